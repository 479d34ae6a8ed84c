import type { Migration } from "../../engine.ts";
import { prepareRunsForConsole } from "../../migrations/2026-11-27-console.ts";

/**
 * Expression: a text of a product's document, as JSON escapes it; null without one. The first match
 * of the key is the product's own, because quotation marks inside values are escaped.
 */
const textOf = (field: string) => (document: string) => {
  const key = `,"${field}":"`;
  const rest = `substr(${document}, instr(${document}, '${key}') + ${key.length})`;
  return `CASE WHEN instr(${document}, '${key}') > 0 THEN substr(${rest}, 1, instr(${rest}, '","') - 1) END`;
};

export const statusOf = textOf("status");
export const vendorOf = textOf("vendor");
export const tagsOf = textOf("tags");

export const console: Migration = {
  name: "2026-11-27-console",
  statements: [
    ...prepareRunsForConsole,
    // A filter reads this index in the order of the products, and no documents.
    `CREATE INDEX product_filter ON product
      (id, ${statusOf("document")}, ${vendorOf("document")}, ${tagsOf("document")})`,
  ],
};
