import { wasOrWere } from "../../base/format.ts";
import {
  countRejected,
  type Difference,
  type FileReport,
  type ImportReport,
  type PersonalizationReport,
} from "../../jobs/import-report.ts";
import { type ListName, lists } from "../lists.ts";
import type { PersonalizationOptions } from "../options.ts";

/** In smaller versions, the shares of additions and removals are not checked. */
const minChecked = 20;

interface MaxChanges {
  readonly max_added_share?: number;
  readonly max_removed_share: number;
}

const percent = (share: number) => `${Number((share * 100).toFixed(2))}%`;

/**
 * The reasons not to make a feed current, each a clause without a period.
 * @param usesChoices whether a style names a choice group
 */
export function listViolations(
  { files, skus, styles, choices }: PersonalizationReport,
  report: ImportReport,
  options: Pick<PersonalizationOptions, "max_added_share" | "max_removed_share" | "max_rejected_share">,
  usesChoices: boolean,
): string[] {
  const { accepted, duplicates, rejected } = report;
  const differences = { pzlines: skus, pzstyles: styles, pzchoices: choices };
  return [
    ...(rejected > (accepted + duplicates + rejected) * options.max_rejected_share
      ? [
          `${countRejected(report)} rows ${wasOrWere(rejected)} rejected${limit("max_rejected_share", options.max_rejected_share)}`,
        ]
      : []),
    ...files.flatMap((file) => emptyFile(file, differences[file.list], usesChoices)),
    ...Object.entries({ SKUs: skus, styles, choices }).flatMap(([noun, difference]) =>
      difference === null ? [] : tooManyChanges(noun, difference, options),
    ),
  ];
}

const limit = (setting: string, share: number) => ` (${setting} allows ${percent(share)})`;

function emptyFile(
  { list, file, rows, isBlank, separator }: FileReport,
  difference: Difference | null,
  usesChoices: boolean,
): string[] {
  const isCsv = separator !== null;
  if (isBlank) {
    const expected = isCsv ? `expected the header ${lists[list].columns.join(", ")}` : "write an empty list as []";
    return [`${file}: the file is empty; ${expected}`];
  }
  return rows === 0 && isCsv && needsRows(list, difference, usesChoices)
    ? [`${file}: the file has a header but no rows`]
    : [];
}

/** A list without rows may stay empty, and some brands have no choices from the start. */
function needsRows(list: ListName, difference: Difference | null, usesChoices: boolean): boolean {
  if (list === "pzlines") return true;
  if (difference !== null) return difference.removed > 0;
  return list === "pzstyles" || usesChoices;
}

/** @param noun what changes, in the plural */
export function tooManyChanges(
  noun: string,
  { total, added, removed }: Difference,
  { max_added_share: maxAdded = Number.POSITIVE_INFINITY, max_removed_share: maxRemoved }: MaxChanges,
): string[] {
  const before = total - added + removed;
  if (before < minChecked) return [];
  return [
    ...(removed > before * maxRemoved
      ? [`${removed} of ${before} ${noun} would be removed${limit("max_removed_share", maxRemoved)}`]
      : []),
    ...(added > before * maxAdded
      ? [`${added} ${noun} would be added to ${before}${limit("max_added_share", maxAdded)}`]
      : []),
  ];
}
