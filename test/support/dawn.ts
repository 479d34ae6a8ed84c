/**
 * A stand-in for Shopify's theme Dawn 15.4.1. It has none of its code, which is licensed for themes
 * only, and behaves as these files do: `assets/constants.js`, `pubsub.js`, `product-form.js`,
 * `product-info.js`, and `snippets/buy-buttons.liquid` of https://github.com/Shopify/dawn.
 */
export const dawnScripts = {
  // Classic scripts: other scripts of the theme find these by their global names.
  "/assets/pubsub.js": `
    const PUB_SUB_EVENTS = { variantChange: "variant-change" };
    const listenersOf = new Map();
    function subscribe(name, listener) { listenersOf.set(name, [...(listenersOf.get(name) ?? []), listener]); }
    function publish(name, data) { for (const listener of listenersOf.get(name) ?? []) listener(data); }`,

  // Enables the variant's field, and posts the form by script, without checking its validity.
  "/assets/product-form.js": `
    customElements.define("product-form", class extends HTMLElement {
      constructor() {
        super();
        const form = this.querySelector("form");
        const button = this.querySelector("[type=submit]");
        form.querySelector("[name=id]").disabled = false;
        form.addEventListener("submit", async (event) => {
          event.preventDefault();
          if (button.getAttribute("aria-disabled") === "true") return;
          button.setAttribute("aria-disabled", "true");
          const headers = { Accept: "application/javascript", "X-Requested-With": "XMLHttpRequest" };
          const response = await fetch("/cart/add", { method: "POST", headers, body: new FormData(form) });
          if ((await response.json()).status === undefined) window.location = "/cart";
        });
      }
    });`,

  // Asks the shop for the section of another variant, then sets the variant's field and publishes.
  "/assets/product-info.js": `
    customElements.define("product-info", class extends HTMLElement {
      connectedCallback() {
        this.querySelector("select").addEventListener("change", async ({ target }) => {
          const variant = await (await fetch("/variants/" + target.value)).json();
          const field = this.querySelector("input[name=id]");
          field.value = variant.id;
          field.dispatchEvent(new Event("change", { bubbles: true }));
          publish(PUB_SUB_EVENTS.variantChange, { data: { sectionId: this.dataset.section, variant } });
        });
      }
    });`,
};

/** A product page of the theme, with what a merchant has put before the buttons. */
export const dawnPage = (beforeButtons: string) => `<!doctype html><html lang="en"><meta charset="utf-8">
  <title>Napkin</title>
  ${Object.keys(dawnScripts)
    .map((src) => `<script src="${src}" defer="defer"></script>`)
    .join("")}
  <product-info data-section="main">
    <label>Color <select><option value="101">White</option><option value="102">Ivory</option></select></label>
    <product-form>
      <form method="post" action="/cart/add" id="product-form-main" novalidate="novalidate">
        <input type="hidden" name="id" value="101" disabled class="product-variant-id">
        ${beforeButtons}
        <div class="product-form__buttons">
          <button type="submit" name="add"><span>Add to cart</span></button>
          <div class="shopify-payment-button"><button type="button">Buy it now</button></div>
        </div>
      </form>
    </product-form>
  </product-info></html>`;
