import type {
  CompleteProduct,
  CompleteVariant,
  ShopifyImage,
  ShopifyMedia,
  ShopifyMetafield,
} from "../complete-product.ts";
import type { Responses } from "../responses.ts";

type Connection = { readonly edges: readonly { readonly node: object }[] };
/** The nodes of a list: in a bulk result, each is on a line of its own. */
type NodeOf<List extends Connection | undefined> = NonNullable<List>["edges"][number]["node"];

type Product = NodeOf<Responses["BulkProducts"]["products"]>;
type Variant = NodeOf<Product["variants"]>;
type ProductMedia = NodeOf<Responses["BulkMedia"]["products"]>;
type Core = Omit<Product, "images" | "metafields" | "variants">;
type Publication = NodeOf<ProductMedia["resourcePublications"]>;

type Child = (
  | Omit<Variant, "metafields">
  | NodeOf<Product["metafields"]>
  | NodeOf<Product["images"]>
  | NodeOf<ProductMedia["media"]>
  | Publication
) & { readonly __parentId: string };
type Line = (Core & { readonly __parentId?: undefined }) | Child;

interface Lists {
  readonly images: ShopifyImage[];
  readonly media: ShopifyMedia[];
  readonly metafields: ShopifyMetafield[];
  readonly publications: Publication[];
  readonly variants: CompleteVariant[];
}

const createLists = (): Lists => ({ images: [], media: [], metafields: [], publications: [], variants: [] });

/** @throws SyntaxError at a line that is not JSON, where the parser alone would stop silently */
function parseLines(text: string): Line[] {
  const { values, done, error } = Bun.JSONL.parseChunk(text);
  if (error !== null || !done) throw error ?? new SyntaxError("the bulk result is incomplete");
  return values as Line[];
}

/** Builds products from the lines of a bulk result in any order; siblings keep theirs. */
export function buildProducts(text: Uint8Array): CompleteProduct[] {
  // Keyed by id, because a product that changes during the operation may be in its result twice.
  const cores = new Map<string, Core>();
  const lists = new Map<string, Lists>();
  const metafieldsOf = new Map<string, ShopifyMetafield[]>();
  const listsOf = (product: string) => lists.getOrInsertComputed(product, createLists);
  const variantMetafields = (variant: string) => metafieldsOf.getOrInsertComputed(variant, () => []);

  for (const line of parseLines(new TextDecoder().decode(text))) {
    if (line.__parentId === undefined) cores.set(line.id, line);
    else if (line.__typename === "Metafield" && !line.__parentId.startsWith("gid://shopify/Product/")) {
      variantMetafields(line.__parentId).push(line);
    } else addTo(listsOf(line.__parentId), line, variantMetafields);
  }
  return Array.from(cores.values(), (core) => {
    const { variants, publications, ...rest } = listsOf(core.id);
    const where = publications.length > 0 && { resourcePublications: { nodes: publications } };
    return { ...core, ...rest, ...where, variants: variants.toSorted((a, b) => a.position - b.position) };
  });
}

function addTo(lists: Lists, line: Child, metafieldsOf: (variant: string) => ShopifyMetafield[]): void {
  switch (line.__typename) {
    case "ProductVariant":
      lists.variants.push({ ...line, metafields: metafieldsOf(line.id) });
      break;
    case "Metafield":
      lists.metafields.push(line);
      break;
    case "MediaImage":
      lists.media.push(line);
      break;
    case "ResourcePublication":
      lists.publications.push(line);
      break;
    case "Image":
      lists.images.push(line);
      break;
  }
}
