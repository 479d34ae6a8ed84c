import { PersonalizationOptions } from "./element.ts";

// A page may load the script twice, under its two addresses.
if (customElements.get("personalization-options") === undefined) {
  customElements.define("personalization-options", PersonalizationOptions);
}

export { PersonalizationOptions };
