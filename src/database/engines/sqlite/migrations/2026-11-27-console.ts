import type { Migration } from "../../engine.ts";
import { prepareForConsole } from "../../migrations/2026-11-27-console.ts";

/**
 * Expression: the part of a product's document from its status to its vendor. The first match of the
 * key is the product's own, because quotation marks inside values are escaped. Longer parts are cut.
 */
function factsOf(document: string): string {
  const begin = `instr(${document}, ',"status":"')`;
  const end = `instr(substr(${document}, ${begin}, 20000), ',"admin_graphql_api_id":')`;
  // With the quotation mark after it, so that the last value ends as the others do.
  return `substr(${document}, ${begin}, ${end} + 1)`;
}

/** Condition: whether a text of a product's document has a value, as JSON escapes it. */
const hasText = (field: string) => (document: string, value: string) =>
  `instr(${factsOf(document)}, ',"${field}":"' || ${value} || '","') > 0`;

export const hasStatus = hasText("status");
export const hasVendor = hasText("vendor");

export function hasTag(document: string, value: string): string {
  const facts = factsOf(document);
  const rest = `substr(${facts}, instr(${facts}, ',"tags":"') + 9)`;
  const tags = `substr(${rest}, 1, instr(${rest}, '","') - 1)`;
  // Most products are told apart by the first condition, which costs little.
  return `instr(${facts}, ${value}) > 0 AND instr(', ' || ${tags} || ', ', ', ' || ${value} || ', ') > 0`;
}

export const console: Migration = {
  name: "2026-11-27-console",
  statements: [
    ...prepareForConsole,
    // A filter reads this index in the order of the products, and no documents.
    `CREATE INDEX product_filter ON product (id, ${factsOf("document")})`,
  ],
};
