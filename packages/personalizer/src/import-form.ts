import { folder } from "./addresses.ts";

/** Name of the second script, which the build puts here. */
declare const FORM_FILE: string;

/** The second script: what the options of a SKU need. */
export type FormScript = typeof import("./form/index.ts");

/** Browsers remember by its URL that a script could not be loaded, and do not request it again. */
let attempt = "";
let isLoaded = false;

const { href } = new URL(`personalization-options/${FORM_FILE}`, folder);

/** @throws if the script cannot be loaded, or is not the one that the page's `integrity` allows */
export async function importForm(): Promise<FormScript> {
  try {
    const form: Partial<FormScript> = await import(href + attempt);
    // Content blockers replace scripts by empty ones.
    if (!form.drawForm) throw new TypeError(href);
    isLoaded = true;
    return form as FormScript;
  } catch (error) {
    renewImport();
    throw error;
  }
}

/** Lets the next import request the script again, if it has not arrived: its connection may hang. */
export function renewImport(): void {
  // An `integrity` is for this very URL.
  const isChecked = [...document.querySelectorAll<HTMLLinkElement>("link[integrity]")].some(
    (link) => link.href === href,
  );
  if (!isLoaded && !isChecked) attempt = `?${performance.now()}`;
}
