import { dispatch } from "../events.ts";
import type { Order } from "../order.ts";
import type { Entry } from "../selection.ts";
import { fillIn } from "../texts.ts";

/** A cart as `/cart.js` of a Shopify store returns it. */
interface Cart {
  readonly items: readonly { readonly properties?: Readonly<Record<string, unknown>> | null }[];
}

interface Ordered {
  readonly entries: readonly Entry[];
  readonly sku: string;
}

/** Checks after an addition to the cart that a line of the cart has the order's properties. */
export class CartCheck {
  readonly #element: Element;
  readonly #order: Order;
  readonly #show: (message: string) => void;
  #observer: PerformanceObserver | undefined;
  /** Until the cart has been checked. */
  #ordered: Ordered | undefined;

  /** @param show shows a message to the shopper */
  constructor(element: Element, order: Order, show: (message: string) => void) {
    this.#element = element;
    this.#order = order;
    this.#show = show;
  }

  /** The shopper has submitted the form, with these form entries. */
  expect(entries: readonly Entry[], sku: string): void {
    this.#ordered = entries.length > 0 ? { entries, sku } : undefined;
  }

  /**
   * Waits for requests that add to the cart, by whatever script.
   * @param cart URL of the cart, such as `/fr/cart.js`; null to stop
   */
  watch(cart: string | null): void {
    this.#observer?.disconnect();
    if (!cart) return;
    const added = new URL(`${cart.replace(/\.js\b.*/, "")}/add`, document.baseURI).href;
    this.#observer = new PerformanceObserver((list) => {
      const requests = list.getEntries() as (PerformanceResourceTiming & { readonly responseStatus?: number })[];
      const isAdded = requests.some(({ name, responseStatus = 200 }) => name.startsWith(added) && responseStatus < 400);
      if (isAdded && this.#ordered) void this.#check(cart, this.#ordered);
    });
    this.#observer.observe({ type: "resource" });
  }

  async #check(cart: string, { entries, sku }: Ordered): Promise<void> {
    this.#ordered = undefined;
    let missing: Entry[] = [];
    try {
      missing = findMissing(entries, await (await fetch(cart, { cache: "no-store" })).json());
    } catch {
      // The cart cannot be read, so nothing is known to be missing.
    }
    if (missing.length > 0) this.#report(missing, sku);
  }

  /** The theme has dropped properties of the order. Shoppers miss those that they can see. */
  #report(properties: readonly Entry[], sku: string): void {
    const seen = properties.filter(([name]) => !name.startsWith("_"));
    const message = fillIn(this.#order.labels.missing, { text: seen.map(([, value]) => value).join(", ") });
    const detail = { message, properties: Object.fromEntries(properties), sku };
    if (dispatch(this.#element, "personalizer-cart-problem", detail) && seen.length > 0) this.#show(message);
  }
}

/** The properties that the best line of the cart lacks. */
function findMissing(entries: readonly Entry[], { items }: Cart): Entry[] {
  let missing = entries.map(([name, value]): Entry => [name.slice("properties[".length, -1), value]);
  const ordered = missing;
  for (const { properties } of items) {
    const lacking = ordered.filter(([name, value]) => plain(`${properties?.[name]}`) !== plain(value));
    if (lacking.length < missing.length) missing = lacking;
  }
  return missing;
}

/** Requests have line ends of their own, and carts may trim. */
const plain = (value: string) => value.replaceAll("\r", "").trim();
