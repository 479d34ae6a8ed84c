import type { Queryable } from "../database/database.ts";
import { listDocuments } from "../database/product.ts";
import type { Reporter } from "../jobs/work.ts";
import { parseJson } from "../json.ts";
import type { Id, Product } from "../model/product.ts";
import type { CatalogPage, KeptFields, Platform, PlatformProduct, UnusableProduct } from "../platforms/platform.ts";

type Read = PlatformProduct | UnusableProduct;

/**
 * A platform whose products have the stored values of the fields that could not be read.
 * @param reporter notes which fields these are
 */
export function keepStoredFields(platform: Platform, database: Queryable, reporter?: Reporter): Platform {
  let isNoted = false;
  const complete = async <One extends Read>(products: readonly One[]): Promise<One[]> => {
    const kept = products.flatMap((read) => ("kept" in read ? [read.kept] : []))[0];
    if (kept === undefined) return [...products];
    if (!isNoted) reporter?.note(describe(kept));
    isNoted = true;
    const ids = products.flatMap((read) => ("product" in read ? [BigInt(read.product.id)] : []));
    const stored = await listDocuments(database, ids);
    return products.map((read) => {
      const document = "product" in read ? stored.get(`${read.product.id}`) : undefined;
      if (document === undefined || !("kept" in read)) return read;
      return { ...read, product: withStored(read.product, parseJson(document) as Product, read.kept ?? []) };
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
        async *readProducts() {
          for await (const batch of snapshot.readProducts()) {
            // Without kept fields a batch stays lazy: one product at a time is in memory.
            yield snapshot.kept?.length ? await complete([...batch]) : batch;
          }
        },
        [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
      };
    },
  };
}

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
