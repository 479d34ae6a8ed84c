import type { ProductFact, ProductSearch, Value } from "./engine.ts";

/**
 * @param toSearchText makes a text that matches all words
 * @returns the statement's values, starting with the id; the search text's placeholder; conditions
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
