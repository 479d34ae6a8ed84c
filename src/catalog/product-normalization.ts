import { toJson } from "../base/json.ts";

type Document = Record<string, unknown>;

const isDocument = (value: unknown): value is Document =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Brings a product of a file into the contract's form. Fields that exports of a platform leave out
 * get defaults: `metafields` (none), `image` (the first image), `tax_code` (empty). Text that may be
 * null becomes empty. The values of metafields become text. What has several meanings stays as it is.
 */
export function normalizeProduct(document: unknown): unknown {
  if (!isDocument(document)) return document;
  const { images, variants } = document;
  return {
    ...document,
    ...emptyWhenNull(document, "body_html", "product_type", "tags"),
    image: document.image ?? firstImage(images),
    variants: mapList(variants, normalizeVariant),
    metafields: normalizeMetafields(document),
  };
}

function normalizeVariant(variant: Document): Document {
  return {
    tax_code: "",
    ...variant,
    ...emptyWhenNull(variant, "barcode", "sku", "tax_code"),
    metafields: normalizeMetafields(variant),
  };
}

const normalizeMetafields = ({ metafields = [] }: Document) =>
  mapList(metafields, (metafield) => ({ ...metafield, value: toMetafieldText(metafield) }));

const isBoolean = (value: unknown) => typeof value === "boolean";
const isStructure = (value: unknown) => typeof value === "object" && value !== null;
const isInteger = (value: unknown) => typeof value === "bigint" || Number.isSafeInteger(value);

/** A double keeps fifteen digits; others may have changed when the file was parsed. */
const isDecimal = (value: unknown) =>
  isInteger(value) ||
  (typeof value === "number" && /^-?\d+\.\d+$/.test(`${value}`) && `${value}`.replace(/\D/g, "").length <= 15);

/** The JSON values, besides text, that a metafield of a type may have. */
const valuesOfTypes: readonly [type: RegExp, isValue: (value: unknown) => boolean][] = [
  [/^boolean$/, isBoolean],
  [/^(number_)?integer$/, isInteger],
  [/^number_decimal$/, isDecimal],
  [/^json(_string)?$/, (value) => isBoolean(value) || isDecimal(value) || isStructure(value)],
  [/^(list\..+|rich_text_field|dimension|volume|weight|rating|money|link)$/, isStructure],
];

/** Exports write values of some types as JSON, but the contract has the JSON's text. */
function toMetafieldText({ type, value }: Document): unknown {
  if (typeof value === "string") return value;
  const isOfType = valuesOfTypes.some(([name, isValue]) => name.test(`${type}`) && isValue(value));
  return isOfType ? toJson(value) : value;
}

function emptyWhenNull(document: Document, ...keys: string[]): Document {
  return Object.fromEntries(keys.filter((key) => document[key] === null).map((key) => [key, ""]));
}

function firstImage(images: unknown): unknown {
  if (!Array.isArray(images)) return null;
  return images.find((image) => isDocument(image) && image.position === 1) ?? images[0] ?? null;
}

/** Leaves what is no list, and members that are no objects, to the contract to refuse. */
function mapList(list: unknown, normalize: (member: Document) => Document): unknown {
  return Array.isArray(list) ? list.map((member) => (isDocument(member) ? normalize(member) : member)) : list;
}
