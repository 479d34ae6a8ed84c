import { parseJson } from "./json.ts";

/** Input that survives reloads, and changes of the variant or language that load another page. */
interface Draft {
  readonly id: string;
  /** Two brands may have the same SKU. */
  readonly endpoint?: string;
  readonly sku: string;
  /** The product in the page's URL, whose variants may share lines. */
  readonly product: string | null;
  /** Time at which the page was loaded. */
  readonly page: number;
  readonly state: string;
}

/** The element whose input is kept. */
type Owner = HTMLElement & { readonly endpoint?: string; readonly sku: string };

const storageKey = "personalization-options";
const maxDrafts = 20;

/**
 * Keeps the input of one element in the storage of the page's tab. Where several elements could
 * have entered a text, none gets it: a text on the wrong product is worse than one that is gone.
 */
export class Drafts {
  /** The elements in the page, also in shadow trees. */
  static readonly #present = new Set<Owner>();
  readonly #owner: Owner;
  /** SKUs of the variants that the element has shown; its latest input is for all of them. */
  readonly #skus = new Set<string>();

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** @param isPresent whether the element is in the page from now on */
  join(isPresent: boolean): void {
    Drafts.#present[isPresent ? "add" : "delete"](this.#owner);
  }

  /** The input of the element's SKU, or else of another variant. */
  find(): string | undefined {
    const { sku } = this.#owner;
    if (this.#isTwin) return undefined;
    const drafts = readDrafts().filter((draft) => this.#isNamedLike(draft));
    const own = drafts.find((draft) => draft.sku === sku);
    return (own ?? (this.#isAlone ? drafts.find(isEarlier) : undefined))?.state;
  }

  /** @param state undefined to forget the input, also of the variants that the page has shown */
  save(state: string | undefined): void {
    const { id, endpoint, sku } = this.#owner;
    // Of another element, a text that is for one of them may be for another product.
    if (!this.#isAlone) this.#skus.clear();
    this.#skus.add(sku);
    const isOutdated = state === undefined ? isOfProduct : (draft: Draft) => this.#isAlone && isEarlier(draft);
    const isReplaced = (draft: Draft) => this.#isNamedLike(draft) && (this.#skus.has(draft.sku) || isOutdated(draft));
    const others = readDrafts().filter((draft) => !isReplaced(draft));
    const draft = { id, endpoint, product: currentProduct(), page: performance.timeOrigin, state };
    const skus = state === undefined || this.#isTwin ? [] : [...this.#skus];
    const own = skus.map((sku) => ({ ...draft, sku }));
    try {
      // If the storage is full, an earlier text must not come back.
      sessionStorage.removeItem(storageKey);
      // As an object: some scripts of pages replace the JSON of arrays.
      sessionStorage.setItem(storageKey, JSON.stringify({ ...[...own, ...others].slice(0, maxDrafts) }));
    } catch {
      // The storage is full, or the page has none. The browser itself restores some input.
    }
  }

  /** The state for the browser, which does not know what it belongs to. */
  pack(state: string): string {
    const { id, endpoint, sku } = this.#owner;
    return JSON.stringify({ id, endpoint, sku, state });
  }

  /** The state that the browser restores; undefined if it may belong to another element. */
  unpack(packed: unknown): unknown {
    const { state, ...names } = parseJson(packed) ?? {};
    const isOwn = this.#isNamedLike(names) && (names.sku === this.#owner.sku || this.#isAlone);
    return isOwn ? state : undefined;
  }

  /** Whether ID and endpoint are the same. Elements that are not defined yet may have any endpoint. */
  #isNamedLike({
    id,
    endpoint = this.#owner.endpoint,
  }: {
    readonly id?: unknown;
    readonly endpoint?: unknown;
  }): boolean {
    return id === this.#owner.id && endpoint === this.#owner.endpoint;
  }

  /** The other elements in the page with the same ID, or without one as well. */
  get #namesakes(): Owner[] {
    // Those that are not defined yet have not joined.
    const inDocument = document.querySelectorAll<Owner>(this.#owner.localName);
    const elements = new Set([...Drafts.#present, ...inDocument]);
    return [...elements].filter((other) => other !== this.#owner && this.#isNamedLike(other));
  }

  /** Whether a namesake has the same SKU. */
  get #isTwin(): boolean {
    return this.#namesakes.some(({ sku }) => sku === this.#owner.sku);
  }

  /** Whether no other element can have entered a text for another SKU. */
  get #isAlone(): boolean {
    return this.#namesakes.length === 0 && document.readyState !== "loading";
  }
}

function readDrafts(): Draft[] {
  try {
    const drafts: object = JSON.parse(sessionStorage.getItem(storageKey) ?? "{}");
    return Object.values(drafts).filter((draft) => typeof draft?.state === "string");
  } catch {
    return [];
  }
}

const isOfThisPage = ({ page }: Draft) => page === performance.timeOrigin;

/** Whether the draft is for the page's product. If the URL names none, the page may show only one. */
const isOfProduct = (draft: Draft) =>
  draft.product === currentProduct() && (draft.product !== null || isOfThisPage(draft));

/** Whether an earlier page of the same product stored the draft. */
const isEarlier = (draft: Draft) => isOfProduct(draft) && !isOfThisPage(draft);

/** The product's handle, which all languages and variants share: `/fr/products/napkin`. Null on other pages. */
const currentProduct = () => /\/products\/([^/]+)/.exec(location.pathname)?.[1] ?? null;
