import type { SQL } from "bun";
import { type ReadingTimes, toStoredProduct, type Way } from "../../src/catalog/product.ts";
import type { Image, Metafield, Product, Variant } from "../../src/contract/product.ts";
import type { Database } from "../../src/database/database.ts";
import { Reporter, type Work } from "../../src/jobs/work.ts";

const at = "2026-03-08T01:30:00-05:00";

/**
 * A valid product with one variant, one image, and a metafield on each; tests override what they
 * are about.
 */
export function toProduct(id: number | bigint, changes: Partial<Product> = {}): Product {
  const image: Image = {
    id: 501,
    product_id: id,
    position: 1,
    width: 800,
    height: 600,
    src: "https://cdn.example/plate.jpg?v=1700000000",
    created_at: at,
    updated_at: at,
    variant_ids: [401],
    alt: null,
    admin_graphql_api_id: "gid://shopify/ProductImage/501",
  };
  return {
    id,
    title: `Plate ${id}`,
    body_html: "<p>A plate.</p>",
    handle: `plate-${id}`,
    created_at: at,
    updated_at: at,
    published_at: at,
    product_type: "",
    published_scope: "web",
    status: "active",
    tags: "color:blue, new",
    template_suffix: null,
    vendor: "Maker",
    admin_graphql_api_id: `gid://shopify/Product/${id}`,
    images: [image],
    image,
    options: [{ id: 301, product_id: id, position: 1, name: "Title", values: ["Default Title"] }],
    variants: [toVariant(id)],
    metafields: [toMetafield(201, id, "product", "long_desc", "Long")],
    ...changes,
  };
}

export function toVariant(productId: number | bigint, changes: Partial<Variant> = {}): Variant {
  return {
    id: 401,
    product_id: productId,
    inventory_item_id: 601,
    position: 1,
    image_id: 501,
    barcode: "",
    sku: `SKU-${productId}`,
    title: "Default Title",
    price: "49.95",
    compare_at_price: null,
    fulfillment_service: "manual",
    inventory_management: "shopify",
    inventory_policy: "deny",
    inventory_quantity: 7,
    old_inventory_quantity: 7,
    requires_shipping: true,
    taxable: true,
    tax_code: "",
    grams: 567,
    weight: 1.25,
    weight_unit: "lb",
    option1: "Default Title",
    option2: null,
    option3: null,
    created_at: at,
    updated_at: at,
    admin_graphql_api_id: `gid://shopify/ProductVariant/${changes.id ?? 401}`,
    metafields: [toMetafield(202, 401, "variant", "sku_status", "A")],
    ...changes,
  };
}

export function toMetafield(
  id: number,
  ownerId: number | bigint,
  resource: "product" | "variant",
  key: string,
  value: string,
): Metafield {
  return {
    id,
    owner_id: ownerId,
    owner_resource: resource,
    namespace: "global",
    key,
    value,
    type: "string",
    description: null,
    created_at: at,
    updated_at: at,
    admin_graphql_api_id: `gid://shopify/Metafield/${id}`,
  };
}

/** Does the work of a job here. @returns its report, and why it failed */
export async function doWork(database: Database, work: Work) {
  const reporter = new Reporter();
  const context = { database, isDryRun: false, run: 1, brand: "acme", reporter, signal: new AbortController().signal };
  const error = await work(context).then(
    () => undefined,
    (reason: Error) => reason,
  );
  return { counts: reporter.counts, notes: reporter.report.notes, error };
}

/** A read that takes place now. */
export const readNow = (way: Way = "live"): ReadingTimes => {
  const nowMs = performance.now();
  return { way, beganMs: nowMs, endedMs: nowMs, platformMs: Date.now() };
};

/** Stores products without a run, as if they had been there. */
export async function insertProducts(sql: SQL, products: readonly Product[]): Promise<void> {
  const rows = products.map((product) => {
    const { document, tag } = toStoredProduct(product);
    return { id: product.id, document, tag, updated_at: "" };
  });
  await sql`INSERT INTO product ${sql(rows)}`;
}

/** Changes a stored product, as a job does. */
export async function changeProduct(sql: SQL, product: Product): Promise<void> {
  const { document, tag } = toStoredProduct(product);
  await sql`UPDATE product SET document = ${document}, tag = ${tag} WHERE id = ${product.id}`;
}
