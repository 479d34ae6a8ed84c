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

/** Expression: a text of a product's document, as JSON escapes it; empty without one. */
const textOf = (field: string) => (document: string) => {
  const key = `,"${field}":"`;
  const rest = `substr(${factsOf(document)}, instr(${factsOf(document)}, '${key}') + ${key.length})`;
  return `substr(${rest}, 1, instr(${rest}, '","') - 1)`;
};

export const statusOf = textOf("status");
export const vendorOf = textOf("vendor");

export const hasTag = (document: string, value: string) =>
  `instr(', ' || ${textOf("tags")(document)} || ', ', ', ' || ${value} || ', ') > 0`;

export const console: Migration = {
  name: "2026-11-27-console",
  statements: [
    ...prepareForConsole,
    // A filter reads this index in the order of the products, and no documents.
    `CREATE INDEX product_filter ON product (id, ${factsOf("document")})`,
  ],
};
