// What a theme does when the shopper looks at another variant or another picture.
const form = document.querySelector("form");
const variants = form?.elements.namedItem("id");
const picture = document.querySelector("img.picture");
const thumbnails = [...document.querySelectorAll(".gallery a")];

function showPicture(thumbnail) {
  picture.src = thumbnail.href;
  picture.alt = thumbnail.querySelector("img").alt;
  for (const one of thumbnails) one.removeAttribute("aria-current");
  thumbnail.setAttribute("aria-current", "true");
}

function showVariant() {
  const { sku, price, before, picture: path } = variants.selectedOptions[0].dataset;
  form.querySelector("personalization-options").sku = sku;
  document.querySelector("#price").textContent = price;
  document.querySelector("#before").textContent = before;
  const thumbnail = thumbnails.find((one) => one.getAttribute("href") === path);
  if (thumbnail !== undefined) showPicture(thumbnail);
  const answer = document.querySelector("#answer");
  answer.setAttribute("href", `/api/v1/products/pz/${encodeURIComponent(sku)}`);
  answer.textContent = `GET ${answer.getAttribute("href")}`;
  document.querySelector("#sku").textContent = sku;
  // What is sold out cannot be chosen.
  const button = form.querySelector("button");
  button.disabled = false;
  button.textContent = "Add to cart";
}

if (variants instanceof HTMLSelectElement) variants.addEventListener("change", showVariant);
for (const thumbnail of thumbnails) {
  thumbnail.addEventListener("click", (event) => {
    event.preventDefault();
    showPicture(thumbnail);
  });
}
