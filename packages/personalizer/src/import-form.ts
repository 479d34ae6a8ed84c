import { folder } from "./addresses.ts";

/** Name of the second script, which the build puts here. */
declare const FORM_FILE: string;

/** The second script: what the options of a SKU need. */
export type FormScript = typeof import("./form/index.ts");

/** Browsers remember by its URL that a script could not be loaded, and do not request it again. */
let attempt = "";

/** @throws if the script cannot be loaded, or is not the one that the page's `integrity` allows */
export async function importForm(): Promise<FormScript> {
  const { href } = new URL(`personalization-options/${FORM_FILE}`, folder);
  try {
    return await import(href + attempt);
  } catch (error) {
    // An `integrity` is for this very URL.
    const isChecked = [...document.querySelectorAll<HTMLLinkElement>("link[integrity]")].some(
      (link) => link.href === href,
    );
    if (!isChecked) attempt = `?${performance.now()}`;
    throw error;
  }
}
