import type { Engine } from "../engine.ts";
import { toConditions } from "../product-conditions.ts";
import { hasFact } from "./schema.ts";

const toSearchText = (words: readonly string[], isLastPrefix: boolean) =>
  `${words.map((word) => `"${word}"`).join(" AND ")}${isLastPrefix ? " *" : ""}`;

/** The index `product_filter` answers all conditions, in product order. */
export const findProductIds: Engine["findProductIds"] = async ({ sql }, search) => {
  const { values, words, conditions } = toConditions(search, toSearchText, hasFact);
  const all = conditions.map((condition) => `AND ${condition}`).join(" ");
  const query =
    words === undefined
      ? `SELECT CAST(id AS TEXT) AS id FROM product WHERE product.id > $1 ${all} ORDER BY product.id`
      : // The words give the products in order, and each is then looked up.
        `SELECT CAST(product.id AS TEXT) AS id
        FROM product_word CROSS JOIN product INDEXED BY product_filter ON product.id = product_word.rowid
        WHERE product_word.rowid > $1 AND product_word MATCH ${words} ${all} ORDER BY product_word.rowid`;
  const rows = await sql.unsafe<{ id: string }[]>(`${query} LIMIT ${search.limit}`, values);
  return rows.map(({ id }) => id);
};
