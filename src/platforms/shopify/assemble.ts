import type {
  CompleteProduct,
  CompleteVariant,
  PlatformImage,
  PlatformMedia,
  PlatformMetafield,
  PlatformProductCore,
  PlatformVariant,
} from "./queries.ts";

type Child = { readonly __typename: string; readonly __parentId?: string };
type Line = Child & (PlatformProductCore | PlatformVariant | PlatformMetafield | PlatformImage | PlatformMedia);

interface Lists {
  readonly images: PlatformImage[];
  readonly media: PlatformMedia[];
  readonly metafields: PlatformMetafield[];
  readonly variants: (PlatformVariant & { metafields: PlatformMetafield[] })[];
}

/** @throws SyntaxError at a line that is not JSON; the parser by itself would end there in silence. */
function parseLines(text: string): Line[] {
  const { values, done, error } = Bun.JSONL.parseChunk(text);
  if (error !== null || !done) throw error ?? new SyntaxError("the bulk result is not whole");
  return values as Line[];
}

/** Puts the products of a part together, whatever the order of its lines; siblings keep theirs. */
export function assemble(text: Uint8Array): CompleteProduct[] {
  const cores: PlatformProductCore[] = [];
  const lists = new Map<string, Lists>();
  const metafieldsOf = new Map<string, PlatformMetafield[]>();
  const listsOf = getOrMake(lists, () => ({ images: [], media: [], metafields: [], variants: [] }));
  const variantMetafields = getOrMake(metafieldsOf, () => []);

  for (const line of parseLines(new TextDecoder().decode(text))) {
    const parent = line.__parentId;
    if (parent === undefined) cores.push(line as PlatformProductCore);
    else if (line.__typename === "Metafield" && !parent.startsWith("gid://shopify/Product/")) {
      variantMetafields(parent).push(line as unknown as PlatformMetafield);
    } else addTo(listsOf(parent), line, variantMetafields);
  }
  return cores.map((core) => {
    const { variants, ...rest } = listsOf(core.id);
    return { ...core, ...rest, variants: variants.toSorted((a, b) => a.position - b.position) };
  });
}

function addTo(lists: Lists, line: Line, metafieldsOf: (variant: string) => PlatformMetafield[]): void {
  switch (line.__typename) {
    case "ProductVariant": {
      const variant = line as unknown as PlatformVariant;
      lists.variants.push({ ...variant, metafields: metafieldsOf(variant.id) } satisfies CompleteVariant);
      break;
    }
    case "Metafield":
      lists.metafields.push(line as unknown as PlatformMetafield);
      break;
    case "MediaImage":
      lists.media.push(line as PlatformMedia);
      break;
    case "Image":
      lists.images.push(line as unknown as PlatformImage);
      break;
  }
}

function getOrMake<Value>(map: Map<string, Value>, make: () => Value): (key: string) => Value {
  return (key) => {
    let value = map.get(key);
    if (value === undefined) {
      value = make();
      map.set(key, value);
    }
    return value;
  };
}
