import { PersonalizationOptions } from "./element.ts";

// A page may load the script twice, from its two URLs.
if (customElements.get("personalization-options") === undefined) {
  customElements.define("personalization-options", PersonalizationOptions);
}

export { PersonalizationOptions };
