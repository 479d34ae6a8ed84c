import type { Engine } from "../engine.ts";

/** Reading a product's document takes as long as reading a hundred entries of an index. */
const candidates = 200;

/** The expression is that of the index `product_word`. */
const hasWords = (words: string) =>
  `array_to_tsvector(string_to_array(words, ' ')) @@ CAST(CAST(${words} AS TEXT) AS tsquery)`;

const withCondition = (condition: string) => `SELECT id FROM product WHERE ${condition} OFFSET 0`;

/**
 * Common conditions are met by some of the first products that have the words. Where they are not,
 * each condition's index gives its products, and those in all of them are found. The planner cannot
 * choose between the two: it takes reading documents for cheap, and expects other numbers of products.
 */
export const productQueries: Engine["productQueries"] = (words, conditions) => {
  // Materialized, because the planner would read every product in order to find the first ones.
  const sorted =
    words === undefined
      ? "SELECT id FROM product WHERE id > $1 ORDER BY id"
      : `WITH matching AS MATERIALIZED (SELECT id FROM product WHERE ${hasWords(words)} AND id > $1)
        SELECT id FROM matching ORDER BY id`;
  if (conditions.length === 0) {
    return { all: `SELECT CAST(id AS TEXT) AS id FROM (${sorted} OFFSET 0) AS sorted ORDER BY sorted.id` };
  }
  const [first = "", ...others] = words === undefined ? conditions : [hasWords(words), ...conditions];
  return {
    first: {
      candidates,
      query: `SELECT CAST(id AS TEXT) AS id, CASE WHEN EXISTS (
          SELECT FROM product WHERE product.id = sorted.id AND ${conditions.join(" AND ")} OFFSET 0
        ) THEN 1 ELSE 0 END AS "isFound"
        FROM (${sorted} LIMIT ${candidates}) AS sorted ORDER BY sorted.id`,
    },
    all: `SELECT CAST(id AS TEXT) AS id FROM (${withCondition(first)}) AS found
      WHERE id > $1 ${others.map((condition) => `AND id IN (${withCondition(condition)})`).join(" ")} ORDER BY found.id`,
  };
};

/** The index of each condition is used once, however many products have it. */
export const readByIndex: Engine["readByIndex"] = async (sql, statement, values) =>
  await sql.begin("READ ONLY", async (transaction) => {
    await transaction.unsafe("SET LOCAL enable_seqscan = off; SET LOCAL enable_nestloop = off");
    return await transaction.unsafe(statement, values);
  });
