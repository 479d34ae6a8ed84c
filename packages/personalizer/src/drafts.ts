/** Input that survives reloads, and changes of the variant or language that load another page. */
interface Draft {
  /** Of the element. */
  readonly id: string;
  readonly sku: string;
  /** The product in the page's URL, whose variants may share lines. */
  readonly product: string | null;
  /** When the page was loaded: its other elements may be for other products. */
  readonly page: number;
  readonly state: string;
}

const storageKey = "personalization-options";
const maxDrafts = 20;

/** Returns the stored input for an element: that of its SKU, or else of another variant. */
export function findDraft(id: string, sku: string): string | undefined {
  const drafts = readDrafts().filter((draft) => draft.id === id);
  const elements = [...document.querySelectorAll<HTMLElement & { readonly sku: string }>("personalization-options")];
  const isFree = (draft: Draft) => elements.every((element) => element.sku !== draft.sku);
  return (drafts.find((draft) => draft.sku === sku) ?? drafts.find((draft) => isEarlier(draft) && isFree(draft)))
    ?.state;
}

/** @param state undefined to forget the input */
export function saveDraft(id: string, sku: string, state: string | undefined): void {
  const others = readDrafts().filter((draft) => draft.id !== id || (draft.sku !== sku && !isEarlier(draft)));
  const draft = { id, sku, product: currentProduct(), page: performance.timeOrigin, state };
  try {
    sessionStorage.setItem(
      storageKey,
      JSON.stringify([...(state === undefined ? [] : [draft]), ...others].slice(0, maxDrafts)),
    );
  } catch {
    // The storage is full, or the page has none. The browser itself restores some input.
  }
}

function readDrafts(): Draft[] {
  try {
    const drafts: unknown = JSON.parse(sessionStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(drafts) ? drafts : [];
  } catch {
    return [];
  }
}

/** Whether an earlier page of the same product stored it. */
const isEarlier = ({ product, page }: Draft) =>
  product !== null && product === currentProduct() && page !== performance.timeOrigin;

/** The same in all languages and for all variants: `/fr/products/napkin`. Null on other pages. */
const currentProduct = () => /\/products\/([^/]+)/.exec(location.pathname)?.[1] ?? null;
