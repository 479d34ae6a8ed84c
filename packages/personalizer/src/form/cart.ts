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

/**
 * The theme has dropped properties of the order.
 * @param isSeen whether the shopper can see one of them in the cart
 */
type Report = (detail: { readonly message: string; properties: object; sku: string }, isSeen: boolean) => void;

/** Checks after an addition to the cart that a line of the cart has the order's properties. */
export class CartCheck {
  readonly #order: Order;
  readonly #report: Report;
  #observer: PerformanceObserver | undefined;
  /** The order to check; undefined once the cart has been checked. */
  #ordered: Ordered | undefined;

  constructor(order: Order, report: Report) {
    this.#order = order;
    this.#report = report;
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
    if (missing.length === 0) return;
    const seen = missing.filter(([name]) => !name.startsWith("_"));
    const message = fillIn(this.#order.labels.missing, { text: seen.map(([, value]) => value).join(", ") });
    this.#report({ message, properties: Object.fromEntries(missing), sku }, seen.length > 0);
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
