const firstProduct = 6_900_000_000_000;
const productStep = 32_768;
const firstVariant = 41_000_000_000_000;
/**
 * Ids reserved for the children of a product in each number space; the platform allows 2,048
 * variants.
 */
const room = 4_096;

/**
 * The ids of a product and its children: decimal text, one number space per kind, as on the
 * platform.
 */
export interface Ids {
  readonly product: string;
  variant(position: number): string;
  inventoryItem(position: number): string;
  option(position: number): string;
  image(position: number): string;
  media(position: number): string;
  imageSource(position: number): string;
  /**
   * `owner` is 0 for the product, else the position of a variant. Curried because most records are
   * metafields.
   */
  metafields(owner: number): (index: number) => string;
}

export function createIds(slot: number, productId: string | undefined): Ids {
  // Children of a product with a huge id get huge ids too: readers must keep them exact as well.
  if (productId !== undefined && BigInt(productId) > BigInt(Number.MAX_SAFE_INTEGER)) return hugeIds(productId);
  const at = slot * room;
  return {
    product: productId ?? regularProductId(slot),
    variant: (position) => String(firstVariant + at + position),
    inventoryItem: (position) => String(43_000_000_000_000 + at + position),
    option: (position) => String(8_800_000_000_000 + slot * 8 + position),
    image: (position) => String(30_000_000_000_000 + at + position),
    media: (position) => String(22_000_000_000_000 + at + ((position * 7) % room)),
    imageSource: (position) => String(23_000_000_000_000 + at + ((position * 11) % room)),
    metafields: (owner) => {
      const start = String(25_000_000_000 + at + owner);
      return (index) => start + String(index).padStart(3, "0");
    },
  };
}

function hugeIds(product: string): Ids {
  const after = (offset: number) => String(BigInt(product) + BigInt(offset));
  return {
    product,
    variant: (position) => after(position),
    inventoryItem: (position) => after(2 * room + position),
    option: (position) => after(position),
    image: (position) => after(3 * room + position),
    media: (position) => after(4 * room + ((position * 7) % room)),
    imageSource: (position) => after(5 * room + ((position * 11) % room)),
    metafields: (owner) => (index) => after((room + owner) * 1_000 + index),
  };
}

export function regularProductId(slot: number): string {
  return String(firstProduct + slot * productStep);
}

/** Undefined if the text cannot be the id of an ordinary product. The product need not exist. */
export function slotOfProductId(id: string): number | undefined {
  const slot = (Number(id) - firstProduct) / productStep;
  return Number.isSafeInteger(slot) && slot >= 0 && regularProductId(slot) === id ? slot : undefined;
}

export function slotOfVariantId(id: string): { slot: number; position: number } | undefined {
  const offset = Number(id) - firstVariant;
  if (!Number.isSafeInteger(offset) || offset < 0) return undefined;
  return { slot: Math.floor(offset / room), position: offset % room };
}

/** Position of a variant of a product with a huge id; undefined for variants of other products. */
export function positionUnderHugeId(productId: string, variantId: string): number | undefined {
  const offset = BigInt(variantId) - BigInt(productId);
  return offset > 0n && offset < BigInt(room) ? Number(offset) : undefined;
}

export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
