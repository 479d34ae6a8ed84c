import type { PersonalizationOptions } from "../element.ts";
import type { Order } from "../order.ts";

const given = new Set<string>();
let last: readonly [element: PersonalizationOptions, order: Order, sku: string] | undefined;

/** Tells the developer of a page, once, how the page loses what shoppers enter. */
export function warn(element: PersonalizationOptions, order: Order): void {
  if (element.form === null && order.styles.length > 0)
    give("is in no form, so nothing is ordered. Put it into one, or name its ID in `form`.");
  const { id, sku } = element;
  const [before, entered, ofSku] = last ?? [];
  const isLost = !before?.isConnected && entered?.isUntouched === false && order.isUntouched;
  if (before !== element && before?.id === id && ofSku !== sku && isLost) {
    give("was created anew for another variant, without the shopper's text. Keep it, and set its `sku`.");
  }
  last = [element, order, sku];
}

function give(text: string): void {
  // biome-ignore lint/suspicious/noConsole: developers look there
  if (!given.has(text)) console.warn(`<personalization-options> ${text}`);
  given.add(text);
}
