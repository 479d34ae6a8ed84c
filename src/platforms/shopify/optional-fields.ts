import type { KeptFields } from "../platform.ts";

/** Fields that Shopify may refuse, and the contract's fields that then keep their last stored values. */
export const optionalFields = {
  "Product.descriptionHtml": { of: "product", fields: ["body_html"] },
  "Product.productType": { of: "product", fields: ["product_type"] },
  "Product.tags": { of: "product", fields: ["tags"] },
  "Product.templateSuffix": { of: "product", fields: ["template_suffix"] },
  "Product.vendor": { of: "product", fields: ["vendor"] },
  "Product.isGiftCard": { of: "variant", fields: ["fulfillment_service"] },
  "Product.metafields": { of: "product", fields: ["metafields"] },
  "Product.media": { of: "image", fields: ["created_at", "updated_at"] },
  "Image.altText": { of: "image", fields: ["alt"] },
  "Image.width": { of: "image", fields: ["width"] },
  "Image.height": { of: "image", fields: ["height"] },
  "ProductVariant.barcode": { of: "variant", fields: ["barcode"] },
  "ProductVariant.compareAtPrice": { of: "variant", fields: ["compare_at_price"] },
  "ProductVariant.inventoryPolicy": { of: "variant", fields: ["inventory_policy"] },
  "ProductVariant.taxable": { of: "variant", fields: ["taxable"] },
  "ProductVariant.taxCode": { of: "variant", fields: ["tax_code"] },
  "ProductVariant.metafields": { of: "variant", fields: ["metafields"] },
  "InventoryItem.requiresShipping": { of: "variant", fields: ["requires_shipping"] },
  "InventoryItem.measurement": { of: "variant", fields: ["grams", "weight", "weight_unit"] },
  "Metafield.description": { of: "metafield", fields: ["description"] },
} as const satisfies Readonly<Record<string, KeptFields>>;

export type OptionalField = keyof typeof optionalFields;

export interface FieldError {
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string; readonly typeName?: string; readonly fieldName?: string };
}

/** Types of a product's parts, by key of the response. */
const typeOfKey: Readonly<Record<string, string>> = {
  product: "Product",
  products: "Product",
  productVariant: "ProductVariant",
  variants: "ProductVariant",
  inventoryItem: "InventoryItem",
  images: "Image",
  metafields: "Metafield",
};

/**
 * @returns a field, as `Type.field`, that the app may not read or the API version does not have;
 *   undefined when the error is about something else
 */
export function findRefusedField({ path = [], extensions }: FieldError): string | undefined {
  if (extensions?.code === "undefinedField") return `${extensions.typeName}.${extensions.fieldName}`;
  if (extensions?.code !== "ACCESS_DENIED") return undefined;
  const keys = path.filter((key) => typeof key === "string");
  const parent = keys.findLast((key, index) => index < keys.length - 1 && key in typeOfKey);
  return `${typeOfKey[parent ?? ""] ?? "QueryRoot"}.${keys.at(-1)}`;
}

export const isOptional = (field: string): field is OptionalField => field in optionalFields;
