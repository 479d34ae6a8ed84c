import type { Engine } from "../engine.ts";

/** One index has all that conditions need, in the order of the products. */
export const productQueries: Engine["productQueries"] = (words, conditions) => {
  const all = conditions.map((condition) => `AND ${condition}`).join(" ");
  if (words === undefined) {
    return { all: `SELECT CAST(id AS TEXT) AS id FROM product WHERE product.id > $1 ${all} ORDER BY product.id` };
  }
  // The words give the products in order, and each is then looked up.
  return {
    all: `SELECT CAST(product.id AS TEXT) AS id
      FROM product_word CROSS JOIN product INDEXED BY product_filter ON product.id = product_word.rowid
      WHERE product_word.rowid > $1 AND product_word MATCH ${words} ${all} ORDER BY product_word.rowid`,
  };
};
