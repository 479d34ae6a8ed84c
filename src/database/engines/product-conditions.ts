import type { ProductFact, ProductSearch, Value } from "./engine.ts";

/**
 * The values of a statement that finds products, its name for the search text, and its conditions. `$1`
 * is the id.
 * @param toSearchText makes a text that matches all words
 * @param hasFact conditions: whether a product's document has a value
 */
export function toConditions(
  { after, words, isLastPrefix, facts }: ProductSearch,
  toSearchText: (words: readonly string[], isLastPrefix: boolean) => string,
  hasFact: Readonly<Record<ProductFact, (document: string, value: string) => string>>,
) {
  const values: Value[] = words === undefined ? [after] : [after, toSearchText(words, isLastPrefix)];
  const conditions = Array.from(facts, ([fact, value]) => hasFact[fact]("document", `$${values.push(value)}`));
  return { values, words: words === undefined ? undefined : "$2", conditions };
}
