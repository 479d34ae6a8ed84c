import type { ProductFact, ProductSearch, Value } from "./engine.ts";

/** Values of a statement that finds products, and how it names them; the first is the id. */
export interface ProductConditions {
  readonly values: readonly Value[];
  /** Names the search text; undefined for all products. */
  readonly words: string | undefined;
  readonly conditions: readonly string[];
}

/**
 * @param toSearchText makes a text that matches all words
 * @param hasFact conditions: whether a product's document has a value
 */
export function toConditions(
  { after, words, isLastPrefix, facts }: ProductSearch,
  toSearchText: (words: readonly string[], isLastPrefix: boolean) => string,
  hasFact: Readonly<Record<ProductFact, (document: string, value: string) => string>>,
): ProductConditions {
  const values: Value[] = words === undefined ? [after] : [after, toSearchText(words, isLastPrefix)];
  const conditions = Array.from(facts, ([fact, value]) => hasFact[fact]("document", `$${values.push(value)}`));
  return { values, words: words === undefined ? undefined : "$2", conditions };
}
