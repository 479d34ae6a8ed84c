import type { Queryable } from "../database/database.ts";
import { listDocuments } from "../database/product.ts";
import type { Reporter } from "../jobs/work.ts";
import { parseJson } from "../json.ts";
import type { Id, Product } from "../model/product.ts";
import type { CatalogPage, KeptFields, Platform, PlatformProduct, UnusableProduct } from "../platforms/platform.ts";

type Read = PlatformProduct | UnusableProduct;

/**
 * A platform whose products have the stored values of the fields, and the stored images, that could
 * not be read.
 * @param reporter notes which these are
 */
export function keepStoredFields(platform: Platform, database: Queryable, reporter?: Reporter): Platform {
  let isNoted = false;
  const complete = async <One extends Read>(products: readonly One[]): Promise<One[]> => {
    const incomplete = (products as readonly Read[]).filter(isIncomplete);
    const kept = incomplete.find((read) => read.kept !== undefined)?.kept;
    if (kept !== undefined && !isNoted) reporter?.note(describe(kept));
    isNoted ||= kept !== undefined;
    for (const { product, unusableImage } of incomplete) {
      if (unusableImage === undefined) continue;
      const note = `product ${product.id}: the image ${unusableImage} cannot be converted; the stored images are kept`;
      reporter?.noteEach("products whose images cannot be converted", `warning: ${note}`);
    }
    const ids = incomplete.map(({ product }) => BigInt(product.id));
    const stored = await listDocuments(database, ids);
    return products.map((read) => {
      const document = isIncomplete(read) ? stored.get(`${read.product.id}`) : undefined;
      if (document === undefined || !isIncomplete(read)) return read;
      const before = parseJson(document) as Product;
      const product = withStored(read.product, before, read.kept ?? []);
      return { ...read, product: read.unusableImage === undefined ? product : withStoredImages(product, before) };
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
        ids: snapshot.ids,
        unsettledSinceMs: snapshot.unsettledSinceMs,
        endedAtMs: snapshot.endedAtMs,
        async *readProducts() {
          for await (const batch of snapshot.readProducts()) {
            // Complete products stay lazy: one at a time is in memory.
            const incomplete: Read[] = [];
            yield Iterator.from(batch).filter((read) => !isIncomplete(read) || incomplete.push(read) === 0);
            if (incomplete.length > 0) yield await complete(incomplete);
          }
        },
        [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
      };
    },
  };
}

const isIncomplete = (read: Read): read is PlatformProduct =>
  "product" in read && (read.kept !== undefined || read.unusableImage !== undefined);

function describe(kept: readonly KeptFields[]): string {
  const fields = kept.flatMap(({ of, fields }) => fields.map((field) => (of === "product" ? field : `${of}.${field}`)));
  return `warning: the platform refuses ${fields.join(", ")}; their last stored values are kept`;
}

type Part = Readonly<Record<string, unknown>> & { readonly id: Id };

/** The product with the kept fields of a stored version, for the parts that it already had. */
function withStored(product: Product, stored: Product, kept: readonly KeptFields[]): Product {
  const fieldsOf = (of: KeptFields["of"]) => kept.flatMap((each) => (each.of === of ? each.fields : []));
  const merge = <Whole extends Part>(part: Whole, old: Part | undefined, fields: readonly string[]): Whole =>
    old === undefined ? part : { ...part, ...Object.fromEntries(fields.map((field) => [field, old[field]])) };
  const mergeAll = <Whole extends Part>(parts: readonly Whole[], old: readonly Part[], of: KeptFields["of"]) => {
    const fields = fieldsOf(of);
    if (fields.length === 0) return [...parts];
    const byId = new Map(old.map((part) => [`${part.id}`, part]));
    return parts.map((part) => merge(part, byId.get(`${part.id}`), fields));
  };
  const oldVariants = new Map(stored.variants.map((variant) => [`${variant.id}`, variant]));
  const images = mergeAll(product.images, stored.images, "image");
  const withMetafields = {
    ...product,
    images,
    image: images[0] ?? null,
    metafields: mergeAll(product.metafields, stored.metafields, "metafield"),
    variants: product.variants.map((variant) => ({
      ...variant,
      metafields: mergeAll(variant.metafields, oldVariants.get(`${variant.id}`)?.metafields ?? [], "metafield"),
    })),
  };
  return {
    ...merge(withMetafields, stored, fieldsOf("product")),
    variants: mergeAll(withMetafields.variants, stored.variants, "variant"),
  };
}

/** The product with the images of a stored version, each shown by the variants that showed it. */
function withStoredImages(product: Product, stored: Product): Product {
  const imageIds = new Map(stored.variants.map(({ id, image_id }) => [`${id}`, image_id]));
  const variants = product.variants.map((variant) => ({ ...variant, image_id: imageIds.get(`${variant.id}`) ?? null }));
  const variantsOf = Map.groupBy(variants, ({ image_id }) => image_id);
  const images = stored.images.map((image) => {
    return { ...image, variant_ids: variantsOf.get(image.id)?.map(({ id }) => id) ?? [] };
  });
  return { ...product, images, image: images[0] ?? null, variants };
}
