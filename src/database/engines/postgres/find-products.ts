import type { Engine } from "../engine.ts";
import { toConditions } from "../product-conditions.ts";
import { hasFact } from "./schema.ts";

/** Reading a product's document takes as long as reading a hundred entries of an index. */
const candidates = 200;

const toSearchText = (words: readonly string[], isLastPrefix: boolean) =>
  `${words.map((word) => `'${word}'`).join(" & ")}${isLastPrefix ? ":*" : ""}`;

/** Must match the expression of the index `product_word`. */
const hasWords = (words: string) =>
  `array_to_tsvector(string_to_array(words, ' ')) @@ CAST(CAST(${words} AS TEXT) AS tsquery)`;

const withCondition = (condition: string) => `SELECT id FROM product WHERE ${condition} OFFSET 0`;

/**
 * Tries the first products that have the words; usually, some of them meet the conditions.
 * Otherwise, intersects the products of each condition's index. The planner would choose badly: it
 * assumes that documents are cheap to read, and misjudges how many products match.
 */
export const findProductIds: Engine["findProductIds"] = async ({ sql, read }, search) => {
  const { limit } = search;
  const { values, words, conditions } = toConditions(search, toSearchText, hasFact);
  // Materialized, because the planner would read every product in order to find the first ones.
  const sorted =
    words === undefined
      ? "SELECT id FROM product WHERE id > $1 ORDER BY id"
      : `WITH matching AS MATERIALIZED (SELECT id FROM product WHERE ${hasWords(words)} AND id > $1)
        SELECT id FROM matching ORDER BY id`;
  // Each condition's index is used once, however many products have it.
  const readByIndex = async (query: string) => {
    const rows = await sql.begin("READ ONLY", async (transaction) => {
      await transaction.unsafe("SET LOCAL enable_seqscan = off; SET LOCAL enable_nestloop = off");
      return await transaction.unsafe<{ id: string }[]>(`${query} LIMIT ${limit}`, values);
    });
    return rows.map(({ id }) => id);
  };
  if (conditions.length === 0) {
    return await readByIndex(`SELECT CAST(id AS TEXT) AS id FROM (${sorted} OFFSET 0) AS sorted ORDER BY sorted.id`);
  }
  const looked = await read<{ id: string; isFound: number }>(
    `SELECT CAST(id AS TEXT) AS id, CASE WHEN EXISTS (
      SELECT FROM product WHERE product.id = sorted.id AND ${conditions.join(" AND ")} OFFSET 0
    ) THEN 1 ELSE 0 END AS "isFound"
    FROM (${sorted} LIMIT ${candidates}) AS sorted ORDER BY sorted.id`,
    values,
  );
  const found = looked.filter(({ isFound }) => isFound === 1).map(({ id }) => id);
  if (found.length >= limit || looked.length < candidates) return found.slice(0, limit);
  const [first = "", ...others] = words === undefined ? conditions : [hasWords(words), ...conditions];
  return await readByIndex(
    `SELECT CAST(id AS TEXT) AS id FROM (${withCondition(first)}) AS found
    WHERE id > $1 ${others.map((condition) => `AND id IN (${withCondition(condition)})`).join(" ")} ORDER BY found.id`,
  );
};
