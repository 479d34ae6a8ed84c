import type { Queryable } from "../database/database.ts";
import { findLines, listGroupFragments, listStyleFragments } from "../database/personalization.ts";
import {
  type FoundPersonalization,
  readGroupNumbers,
  readStyleNumbers,
  render,
  renderEmpty,
  toGroup,
  toStyle,
} from "./render.ts";

/**
 * The personalization of a SKU in one generation, which may be an earlier one: the same response,
 * with the same entity tag, as while the generation is current.
 */
export async function findInGeneration(
  database: Queryable,
  generation: number,
  sku: string,
): Promise<FoundPersonalization> {
  const lines = await findLines(database, generation, sku);
  if (lines === undefined) return renderEmpty(sku);
  const styleNumbers = readStyleNumbers(lines);
  const styles = pick(styleNumbers, (await listStyleFragments(database, generation, styleNumbers)).map(toStyle));
  const groupNumbers = readGroupNumbers(styles);
  const groups = pick(groupNumbers, (await listGroupFragments(database, generation, groupNumbers)).map(toGroup));
  return render({ sku, lines, styles, groups });
}

/** The fragments in the order of the numbers. */
function pick<Fragment extends { readonly number: number }>(
  numbers: readonly number[],
  fragments: readonly Fragment[],
): Fragment[] {
  const byNumber = new Map(fragments.map((fragment) => [fragment.number, fragment]));
  return numbers.flatMap((number) => byNumber.get(number) ?? []);
}
