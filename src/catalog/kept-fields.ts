import { parseJson } from "../base/json.ts";
import type { Image, Product } from "../contract/product.ts";
import { addressOf, type Id } from "../contract/product-values.ts";
import type { Queryable } from "../database/database.ts";
import type { Reporter } from "../jobs/work.ts";
import type {
  CatalogPage,
  KeptFields,
  Platform,
  PlatformProduct,
  UnnamedImage,
  UnusableProduct,
} from "../platforms/platform.ts";
import { listDocuments } from "./product.ts";

type Read = PlatformProduct | UnusableProduct;

/**
 * Wraps a platform: fields that it could not read, and identifiers of images, are taken from the
 * stored product.
 * @param reporter notes these fields, and unknown images
 */
export function keepStoredFields(platform: Platform, database: Queryable, reporter?: Reporter): Platform {
  let isNoted = false;
  const complete = async <One extends Read>(products: readonly One[]): Promise<One[]> => {
    const incomplete = (products as readonly Read[]).filter(isIncomplete);
    const kept = incomplete.find((read) => read.kept !== undefined)?.kept;
    if (kept !== undefined && !isNoted) reporter?.note(describe(kept));
    isNoted ||= kept !== undefined;
    const ids = incomplete.map(({ product }) => BigInt(product.id));
    const stored = await listDocuments(database, ids);
    return products.map((read) => {
      if (!isIncomplete(read)) return read;
      const document = stored.get(`${read.product.id}`);
      const before = document === undefined ? undefined : (parseJson(document) as Product);
      const product = before === undefined ? read.product : withStored(read.product, before, read.kept ?? []);
      if (read.unnamedImages === undefined) return { ...read, product };
      const named = nameImages(product, before, read.unnamedImages);
      if (named.problem !== undefined) {
        const note = `warning: product ${product.id}: ${named.problem}`;
        reporter?.noteEach("products whose images cannot be converted", note);
      }
      return { ...read, product: named.product };
    });
  };
  return {
    ...platform,
    async readProduct(id, options) {
      const reading = await platform.readProduct(id, options);
      const [found] = await complete(reading.found === undefined ? [] : [reading.found]);
      return { ...reading, found };
    },
    async *readPages(after, signal): AsyncGenerator<CatalogPage> {
      for await (const page of platform.readPages(after, signal)) {
        yield { ...page, products: await complete(page.products) };
      }
    },
    async readCatalog(shop, signal) {
      const snapshot = await platform.readCatalog(shop, signal);
      return {
        ...snapshot,
        async *readProducts() {
          for await (const batch of snapshot.readProducts()) {
            // Complete products stay lazy, so that only one is in memory at a time.
            const incomplete: Read[] = [];
            yield Iterator.from(batch).filter((read) => !isIncomplete(read) || incomplete.push(read) === 0);
            if (incomplete.length > 0) yield await complete(incomplete);
          }
        },
      };
    },
  };
}

const isIncomplete = (read: Read): read is PlatformProduct =>
  "product" in read && (read.kept !== undefined || read.unnamedImages !== undefined);

function describe(kept: readonly KeptFields[]): string {
  const fields = kept.flatMap(({ of, fields }) => fields.map((field) => (of === "product" ? field : `${of}.${field}`)));
  return `warning: the platform refuses ${fields.join(", ")}; their last stored values are kept`;
}

type Part = Readonly<Record<string, unknown>> & { readonly id: Id };

function withStored(product: Product, stored: Product, kept: readonly KeptFields[]): Product {
  const merge = <Whole extends Part>(part: Whole, old: Part | undefined, of: KeptFields["of"]): Whole => {
    if (old === undefined) return part;
    const fields = kept.flatMap((each) => (each.of === of ? each.fields : []));
    return { ...part, ...Object.fromEntries(fields.map((field) => [field, old[field]])) };
  };
  const mergeAll = <Whole extends Part>(parts: readonly Whole[], old: readonly Part[], of: KeptFields["of"]) => {
    const byId = new Map(old.map((part) => [part.id, part]));
    return parts.map((part) => merge(part, byId.get(part.id), of));
  };
  const oldVariants = new Map(stored.variants.map((variant) => [variant.id, variant]));
  const variants = product.variants.map((variant) => {
    const old = oldVariants.get(variant.id);
    const metafields = mergeAll(variant.metafields, old?.metafields ?? [], "metafield");
    return merge({ ...variant, metafields }, old, "variant");
  });
  const images = mergeAll(product.images, stored.images, "image");
  const metafields = mergeAll(product.metafields, stored.metafields, "metafield");
  return { ...merge({ ...product, images, image: images[0] ?? null, metafields }, stored, "product"), variants };
}

/** Gives images the identifiers under which they are stored. @returns a problem if one matches no stored one */
function nameImages(
  product: Product,
  stored: Product | undefined,
  unnamed: readonly UnnamedImage[],
): { readonly product: Product; readonly problem?: string } {
  const used = new Set(product.images.map(({ id }) => `${id}`));
  const unused = (stored?.images ?? []).filter(({ id }) => !used.has(`${id}`));
  const take = (image: UnnamedImage["image"], isSame: (old: Image, image: Omit<Image, "id">) => boolean) => {
    const index = image === undefined ? -1 : unused.findIndex((old) => isSame(old, image as Image));
    return index < 0 ? undefined : unused.splice(index, 1)[0];
  };
  const ofMedium = unnamed.map(({ image, ofMedium: medium }) =>
    take(image, (old) => old.admin_graphql_api_id === medium?.admin_graphql_api_id),
  );
  const atAddress = unnamed.map(
    ({ image }, index) => ofMedium[index] ?? take(image, (old, { src }) => addressOf(old.src) === addressOf(src)),
  );
  // An edited image has another address. A new one in its place has another time.
  const isEdited = (old: Image, { position, created_at }: Omit<Image, "id">) =>
    old.position === position && old.created_at === created_at;
  const taken = new Set([...product.images, ...(stored?.images ?? [])].map(({ id }) => `${id}`));
  const known = unnamed.map(({ image, ofMedium: medium }, index) => {
    // The numbers of media and of images may be equal.
    const own = medium === undefined || taken.has(`${medium.id}`) ? undefined : medium;
    return atAddress[index] ?? take(image, isEdited) ?? own;
  });
  const unknown = unnamed.find((_, index) => known[index] === undefined);
  const problem = `the image ${unknown?.name} cannot be converted`;
  if (stored !== undefined && unknown !== undefined && (unused.length > 0 || unknown.image === undefined)) {
    // It may be an image that nothing is known about.
    return { product: withStoredImages(product, stored), problem: `${problem}; the stored images are kept` };
  }
  const images = [...product.images];
  let leftOut = 0;
  for (const [index, { image }] of unnamed.entries()) {
    const old = known[index];
    if (image === undefined || old === undefined) leftOut++;
    else {
      const named = { id: old.id, ...image, admin_graphql_api_id: old.admin_graphql_api_id };
      images.splice(image.position - 1 - leftOut, 0, named);
    }
  }
  const imageOf = new Map(images.flatMap(({ id, variant_ids }) => variant_ids.map((variant) => [`${variant}`, id])));
  const named = {
    ...product,
    images: images.map((image, index) => ({ ...image, position: index + 1 })),
    variants: product.variants.map((variant) => ({
      ...variant,
      image_id: variant.image_id ?? imageOf.get(`${variant.id}`) ?? null,
    })),
  };
  return {
    product: { ...named, image: named.images[0] ?? null },
    ...(unknown !== undefined && { problem: `${problem}; it is left out` }),
  };
}

/** Keeps the stored images and the variants that showed them. */
function withStoredImages(product: Product, stored: Product): Product {
  const imageIds = new Map(stored.variants.map(({ id, image_id }) => [`${id}`, image_id]));
  const variants = product.variants.map((variant) => ({ ...variant, image_id: imageIds.get(`${variant.id}`) ?? null }));
  const variantsOf = Map.groupBy(variants, ({ image_id }) => image_id);
  const images = stored.images.map((image) => {
    return { ...image, variant_ids: variantsOf.get(image.id)?.map(({ id }) => id) ?? [] };
  });
  return { ...product, images, image: images[0] ?? null, variants };
}
