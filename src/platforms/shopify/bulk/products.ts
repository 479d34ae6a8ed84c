import type {
  CompleteProduct,
  CompleteVariant,
  ShopifyImage,
  ShopifyMedia,
  ShopifyMetafield,
  ShopifyProductCore,
  ShopifyPublication,
  ShopifyVariant,
} from "../queries.ts";

type Child = { readonly __typename: string; readonly __parentId?: string };
type Line = Child &
  (ShopifyProductCore | ShopifyVariant | ShopifyMetafield | ShopifyImage | ShopifyMedia | ShopifyPublication);

interface Lists {
  readonly images: ShopifyImage[];
  readonly media: ShopifyMedia[];
  readonly metafields: ShopifyMetafield[];
  readonly publications: ShopifyPublication[];
  readonly variants: (ShopifyVariant & { metafields: ShopifyMetafield[] })[];
}

/** @throws SyntaxError at a line that is not JSON, where the parser alone would stop silently */
function parseLines(text: string): Line[] {
  const { values, done, error } = Bun.JSONL.parseChunk(text);
  if (error !== null || !done) throw error ?? new SyntaxError("the bulk result is incomplete");
  return values as Line[];
}

/** Builds products from the lines of a bulk result in any order; siblings keep theirs. */
export function buildProducts(text: Uint8Array): CompleteProduct[] {
  // By id: a product that changes during the operation may be in its result twice.
  const cores = new Map<string, ShopifyProductCore>();
  const lists = new Map<string, Lists>();
  const metafieldsOf = new Map<string, ShopifyMetafield[]>();
  const listsOf = getOrCreate(lists, () => ({ images: [], media: [], metafields: [], publications: [], variants: [] }));
  const variantMetafields = getOrCreate(metafieldsOf, () => []);

  for (const line of parseLines(new TextDecoder().decode(text))) {
    const parent = line.__parentId;
    if (parent === undefined) cores.set((line as ShopifyProductCore).id, line as ShopifyProductCore);
    else if (line.__typename === "Metafield" && !parent.startsWith("gid://shopify/Product/")) {
      variantMetafields(parent).push(line as unknown as ShopifyMetafield);
    } else addTo(listsOf(parent), line, variantMetafields);
  }
  return Array.from(cores.values(), (core) => {
    const { variants, publications, ...rest } = listsOf(core.id);
    const where = publications.length > 0 && { resourcePublications: { nodes: publications } };
    return { ...core, ...rest, ...where, variants: variants.toSorted((a, b) => a.position - b.position) };
  });
}

function addTo(lists: Lists, line: Line, metafieldsOf: (variant: string) => ShopifyMetafield[]): void {
  switch (line.__typename) {
    case "ProductVariant": {
      const variant = line as unknown as ShopifyVariant;
      lists.variants.push({ ...variant, metafields: metafieldsOf(variant.id) } satisfies CompleteVariant);
      break;
    }
    case "Metafield":
      lists.metafields.push(line as unknown as ShopifyMetafield);
      break;
    case "MediaImage":
      lists.media.push(line as ShopifyMedia);
      break;
    case "ResourcePublication":
      lists.publications.push(line as ShopifyPublication);
      break;
    case "Image":
      lists.images.push(line as unknown as ShopifyImage);
      break;
  }
}

function getOrCreate<Value>(map: Map<string, Value>, create: () => Value): (key: string) => Value {
  return (key) => {
    let value = map.get(key);
    if (value === undefined) {
      value = create();
      map.set(key, value);
    }
    return value;
  };
}
