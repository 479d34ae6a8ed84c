// Updates the page when the shopper selects another variant or image, as a theme does.
const form = document.querySelector("form");
const variants = form?.elements.namedItem("id");
const mainImage = document.querySelector("img.picture");
const thumbnails = [...document.querySelectorAll(".gallery a")];

function showImage(thumbnail) {
  mainImage.src = thumbnail.href;
  mainImage.alt = thumbnail.querySelector("img").alt;
  for (const other of thumbnails) other.removeAttribute("aria-current");
  thumbnail.setAttribute("aria-current", "true");
}

function showVariant() {
  const { sku, request, price, originalPrice, image } = variants.selectedOptions[0].dataset;
  form.querySelector("personalization-options").sku = sku;
  document.querySelector("#price").textContent = price;
  document.querySelector("#original-price").textContent = originalPrice;
  const thumbnail = thumbnails.find((link) => link.getAttribute("href") === image);
  if (thumbnail !== undefined) showImage(thumbnail);
  const link = document.querySelector("#personalization-request");
  link.setAttribute("href", request);
  link.textContent = `GET ${request}`;
  document.querySelector("#sku").textContent = sku;
  // Sold-out variants are disabled, so the selected one is always for sale.
  const button = form.querySelector("button");
  button.disabled = false;
  button.textContent = "Add to cart";
}

if (variants instanceof HTMLSelectElement) variants.addEventListener("change", showVariant);
for (const thumbnail of thumbnails) {
  thumbnail.addEventListener("click", (event) => {
    event.preventDefault();
    showImage(thumbnail);
  });
}
