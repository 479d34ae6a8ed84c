import type { Migration } from "../../engine.ts";
import { prepareForConsole } from "../../migrations/2026-11-27-console.ts";

/** An index takes no long values. */
const maxLength = 200;

/**
 * Expression: a text of a product's document, as JSON escapes it; empty without one. The first match
 * of the key is the product's own, because quotation marks inside values are escaped.
 */
const textOf = (document: string, field: string) => `split_part(split_part(${document}, ',"${field}":"', 2), '","', 1)`;

const statusOf = (document: string) => `left(${textOf(document, "status")}, ${maxLength})`;
const vendorOf = (document: string) => `left(${textOf(document, "vendor")}, ${maxLength})`;
export const hasStatus = (document: string, value: string) =>
  `${statusOf(document)} = left(CAST(${value} AS TEXT), ${maxLength})`;
export const hasVendor = (document: string, value: string) =>
  `${vendorOf(document)} = left(CAST(${value} AS TEXT), ${maxLength})`;
export const hasTag = (document: string, value: string) =>
  `product_tags(${document}) @> ARRAY[left(CAST(${value} AS TEXT), ${maxLength})]`;

export const console: Migration = {
  name: "2026-11-27-console",
  statements: [
    ...prepareForConsole,
    `CREATE INDEX product_by_status ON product ((${statusOf("document")}), id)`,
    `CREATE INDEX product_by_vendor ON product ((${vendorOf("document")}), id)`,
    `CREATE FUNCTION product_tags(document TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT array(SELECT left(tag, ${maxLength}) FROM unnest(string_to_array(${textOf("document", "tags")}, ', ')) AS tag)
    $$`,
    "CREATE INDEX product_by_tag ON product USING gin (product_tags(document))",
  ],
};
