import { z } from "zod";
import { type Id, maxId, toMoney } from "./product-values.ts";

const id = (description: string) =>
  z
    .custom<Id>(
      (value) =>
        (Number.isSafeInteger(value) && (value as number) > 0) ||
        (typeof value === "bigint" && value > 0n && value <= maxId),
      "expected a whole number from 1 to 9223372036854775807",
    )
    .meta({ type: "integer", format: "int64", minimum: 1, description });

const integer = () => z.int("expected a whole number");

const timestamp = (description: string) =>
  z
    .string()
    .regex(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/,
      "expected a timestamp with a numeric UTC offset, such as 2026-11-20T09:30:00-05:00",
    )
    .refine(isRealTime, "expected a date and time that exist")
    .describe(description);

/** Rejects times that do not exist; exports use 0000-00-00 for none. */
function isRealTime(timestamp: string): boolean {
  const asUtc = Date.parse(`${timestamp.slice(0, 19)}Z`);
  const exists = !Number.isNaN(asUtc) && new Date(asUtc).toISOString().startsWith(timestamp.slice(0, 19));
  return exists && !Number.isNaN(Date.parse(timestamp));
}

const created = () => timestamp("When it was created: ISO 8601 with a numeric UTC offset.");
const updated = () => timestamp("When it was last changed: ISO 8601 with a numeric UTC offset.");

const money = (description: string) =>
  z
    .string()
    .overwrite((text) => toMoney(text) ?? text)
    .regex(/^-?\d+\.\d\d$/, 'expected decimal text with at most two places, such as "49.95"')
    .describe(description);

const gid = (kind: string) => z.string().describe(`Global identifier of the form \`gid://<platform>/${kind}/<id>\`.`);

export const metafieldSchema = z
  .lazy(() =>
    z.object({
      id: id("The metafield identifier."),
      owner_id: id("The identifier of the product or variant that it belongs to."),
      owner_resource: z.enum(["product", "variant"]).describe("Kind of resource that owns it."),
      namespace: z.string().describe("Value seen: `global`."),
      key: z.string().describe("Name of the value, such as `sku_status` or `long_desc`."),
      value: z.string().describe("May hold HTML text."),
      type: z.string().describe("Value seen: `string`."),
      description: z.string().nullable(),
      created_at: created(),
      updated_at: updated(),
      admin_graphql_api_id: gid("Metafield"),
    }),
  )
  .meta({ id: "Metafield", description: "A named value attached to a product or to a variant." });

export const imageSchema = z
  .lazy(() =>
    z.object({
      id: id("The image identifier."),
      product_id: id("The product that it belongs to."),
      position: integer(),
      width: integer(),
      height: integer(),
      src: z.string().describe("URL with a version query parameter."),
      created_at: created(),
      updated_at: updated(),
      variant_ids: z.array(id("A variant identifier.")).describe("The variants that it shows; may be empty."),
      alt: z.string().nullable(),
      admin_graphql_api_id: gid("ProductImage"),
    }),
  )
  .meta({ id: "Image", description: "A picture of a product." });

export const optionSchema = z
  .lazy(() =>
    z.object({
      id: id("The option identifier."),
      product_id: id("The product that it belongs to."),
      position: integer(),
      name: z.string(),
      values: z.array(z.string()),
    }),
  )
  .meta({ id: "Option", description: "A way in which the variants of a product differ." });

export const variantSchema = z
  .lazy(() =>
    z.object({
      id: id("The variant identifier."),
      product_id: id("The product that it belongs to."),
      inventory_item_id: id("The inventory item identifier."),
      position: integer(),
      image_id: id("The image that shows it.").nullable().describe("The image that shows it; null if there is none."),
      barcode: z.string(),
      sku: z.string(),
      title: z.string(),
      price: money("Decimal text with two places, in every currency."),
      compare_at_price: money("Decimal text with two places, in every currency.")
        .nullable()
        .describe("Decimal text with two places, in every currency; null if the platform has none."),
      fulfillment_service: z.string().describe("Values seen: `manual`, `gift_card`."),
      inventory_management: z.string().nullable().describe("Service that tracks the stock; null if none does."),
      inventory_policy: z.string().describe("Value seen: `deny`."),
      inventory_quantity: integer(),
      old_inventory_quantity: integer(),
      requires_shipping: z.boolean(),
      taxable: z.boolean(),
      tax_code: z.string(),
      grams: integer(),
      weight: z.number(),
      weight_unit: z.string().describe("`lb`, `oz`, `g`, or `kg`."),
      option1: z.string().nullable(),
      option2: z.string().nullable(),
      option3: z.string().nullable(),
      created_at: created(),
      updated_at: updated(),
      admin_graphql_api_id: gid("ProductVariant"),
      metafields: z.array(metafieldSchema).describe("Its metafields (`owner_resource` is `variant`)."),
    }),
  )
  .meta({ id: "Variant", description: "One sellable form of a product." });

export const productSchema = z
  .lazy(() =>
    z.object({
      id: id("The product identifier."),
      title: z.string(),
      body_html: z.string().describe("Description text."),
      handle: z.string().describe("URL-style slug."),
      created_at: created(),
      updated_at: updated(),
      published_at: timestamp("When it was published.")
        .nullable()
        .describe("When it was published: ISO 8601 with a numeric UTC offset; null if it is not."),
      product_type: z.string().describe("May be empty."),
      published_scope: z.string().describe("Value seen: `web`."),
      status: z.string().describe("Product status. Value seen: `active`."),
      tags: z
        .string()
        .describe("One string of tags separated by a comma and a space; some tags have the form `<name>:<value>`."),
      template_suffix: z.string().nullable(),
      vendor: z.string(),
      admin_graphql_api_id: gid("Product"),
      images: z.array(imageSchema),
      image: imageSchema.nullable().describe("The first image (position 1); null if there is none."),
      options: z.array(optionSchema),
      variants: z.array(variantSchema),
      metafields: z.array(metafieldSchema).describe("Product-level metafields (`owner_resource` is `product`)."),
    }),
  )
  .meta({ id: "Product", description: "A product as the storefront's pages read it." });

export const productAnswerSchema = z
  .lazy(() =>
    z.object({
      product: productSchema.nullable().describe("Null when the lookup failed."),
      shop: z.string().describe("Domain of the store that the product belongs to, form `<shop_domain>`."),
      error: z
        .string()
        .nullable()
        .describe("Null on success; a message on failure, which ends with the request reference."),
    }),
  )
  .meta({
    id: "ProductAnswer",
    description: "The product, or the reason why there is none; always these three fields.",
  });

export type Metafield = z.infer<typeof metafieldSchema>;
export type Image = z.infer<typeof imageSchema>;
export type Option = z.infer<typeof optionSchema>;
export type Variant = z.infer<typeof variantSchema>;
export type Product = z.infer<typeof productSchema>;
export type ProductAnswer = z.infer<typeof productAnswerSchema>;
