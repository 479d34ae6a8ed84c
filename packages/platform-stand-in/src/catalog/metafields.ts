import type { LazyList } from "./list.ts";
import { hashPair, pick, roll } from "./random.ts";
import type { ProductSource } from "./recipe.ts";
import type { MetafieldRecord } from "./records.ts";
import { toTimestamp } from "./times.ts";
import { productMetafieldKeys, sentences, variantMetafieldKeys } from "./words.ts";

const modernTypes = ["single_line_text_field", "multi_line_text_field", "number_integer", "json", "boolean"] as const;

/** `owner` is 0 for the product, else the position of a variant. */
export function listMetafields(source: ProductSource, owner: number): LazyList<MetafieldRecord> {
  const { shape } = source;
  const count = owner === 0 ? shape.metafields : (shape.variantMetafieldsAt?.[owner] ?? shape.variantMetafields);
  const idOf = source.ids.metafields(owner);
  return { length: count, at: (index) => createMetafield(source, owner, index, idOf(index)) };
}

function createMetafield(source: ProductSource, owner: number, index: number, id: string): MetafieldRecord {
  const keys: readonly string[] = owner === 0 ? productMetafieldKeys : variantMetafieldKeys;
  const known = keys[index];
  const key = known ?? `note_${index + 1}`;
  const base = hashPair(source.base, owner * 512 + index + 100);
  const edited = owner === 0 ? source.edit?.metafields?.[key] : source.edit?.variantMetafields?.[owner]?.[key];
  const type = known === undefined ? pick(base, 1, modernTypes) : "string";
  return {
    __typename: "Metafield",
    id: `gid://shopify/Metafield/${id}`,
    legacyResourceId: id,
    namespace: known === undefined ? "custom" : "global",
    key,
    value: edited ?? writeValue(key, type, base),
    type,
    description: roll(base, 2, 5) === 0 ? `About ${key}` : null,
    createdAt: source.createdAtText,
    updatedAt:
      edited === undefined ? source.createdAtText : toTimestamp(source.edit?.childrenEditedAt ?? source.createdAt),
    ownerType: owner === 0 ? "PRODUCT" : "PRODUCTVARIANT",
  };
}

function writeValue(key: string, type: string, base: number): string {
  if (key === "sku_status") return roll(base, 3, 9) === 0 ? "D" : "A";
  if (key === "introduction_date") return `20${10 + roll(base, 3, 16)}-0${1 + roll(base, 4, 9)}-15`;
  if (key.endsWith("_id") || type === "number_integer") return String(roll(base, 3, 1_000_000));
  if (type === "boolean") return roll(base, 3, 2) === 0 ? "true" : "false";
  if (type === "json") return `{"rank":${roll(base, 3, 100)},"note":"${pick(base, 4, sentences)}"}`;
  const sentence = pick(base, 3, sentences);
  if (key.includes("list")) return `<ul><li>${sentence}</li><li>${pick(base, 4, sentences)}</li></ul>`;
  return key === "long_desc" ? `<p>${sentence} ${pick(base, 4, sentences)}</p>` : sentence;
}
