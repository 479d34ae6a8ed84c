import { toJson } from "../base/json.ts";
import { platformOfFiles } from "../platforms/index.ts";

type Document = Record<string, unknown>;

const isDocument = (value: unknown): value is Document =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Brings a product of a file into the contract's form. Fields that exports of a platform leave out
 * get defaults: `metafields` (none), `image` (the first image), `tax_code` (empty), and global
 * identifiers. Text that may be null becomes empty. Other spellings become those of the contract: of
 * timestamps, the status, sizes and prices that are not known, and values of metafields. What has
 * several meanings stays as it is.
 */
export function normalizeProduct(document: unknown): unknown {
  if (!isDocument(document)) return document;
  const { status } = document;
  const image = isDocument(document.image) ? normalizeImage(document.image) : document.image;
  const images = mapList(document.images, normalizeImage);
  return {
    ...normalizeNode(document, "Product"),
    ...emptyWhenNull(document, "body_html", "product_type", "tags"),
    status: typeof status === "string" ? status.toLowerCase() : status,
    images,
    image: image ?? firstImage(images),
    variants: mapList(document.variants, normalizeVariant),
    metafields: normalizeMetafields(document),
  };
}

function normalizeVariant(variant: Document): Document {
  return {
    tax_code: "",
    ...normalizeNode(variant, "ProductVariant"),
    ...emptyWhenNull(variant, "barcode", "sku", "tax_code"),
    ...(variant.compare_at_price === "" && { compare_at_price: null }),
    metafields: normalizeMetafields(variant),
  };
}

/** A platform knows no size until an image is processed, and the contract has no null here. */
const normalizeImage = (image: Document): Document => ({
  ...normalizeNode(image, "ProductImage"),
  width: image.width === null ? 0 : image.width,
  height: image.height === null ? 0 : image.height,
});

const normalizeMetafields = ({ metafields = [] }: Document) => mapList(metafields, normalizeMetafield);

function normalizeMetafield(metafield: Document): Document {
  const normalized = normalizeNode(metafield, "Metafield");
  normalized.value = toMetafieldText(metafield);
  return normalized;
}

/** What products have in common with their parts. @param kind as global identifiers name it */
function normalizeNode(node: Document, kind: string): Document {
  const normalized = { ...node };
  for (const name of ["created_at", "updated_at", "published_at"]) {
    const time = node[name];
    if (typeof time === "string") normalized[name] = toTimestamp(time);
  }
  normalized.admin_graphql_api_id ??= `gid://${platformOfFiles}/${kind}/${node.id}`;
  return normalized;
}

/** Writes `Z` as the numeric offset, and leaves out fractions of seconds. */
const toTimestamp = (text: string) =>
  text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/, (_, seconds: string, offset: string) =>
    offset === "Z" ? `${seconds}+00:00` : `${seconds}${offset}`,
  );

const isBoolean = (value: unknown) => typeof value === "boolean";
const isInteger = (value: unknown) => typeof value === "bigint" || Number.isSafeInteger(value);

/** A double keeps fifteen digits; others may have changed when the file was parsed. */
const isDecimal = (value: unknown) =>
  isInteger(value) ||
  (typeof value === "number" && /^-?\d+\.\d+$/.test(`${value}`) && `${value}`.replace(/\D/g, "").length <= 15);

/** An object or a list in which no number may have changed. */
const isStructure = (value: unknown) =>
  typeof value === "object" && value !== null && Object.values(value).every(isExact);

const isExact = (value: unknown): boolean =>
  value === null || typeof value === "string" || isBoolean(value) || isDecimal(value) || isStructure(value);

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
