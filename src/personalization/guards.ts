import type { PersonalizationOptions } from "../config/index.ts";
import type { Difference, FileReport, ImportReport, PersonalizationReport } from "../model/import-report.ts";
import { lists } from "../model/personalization.ts";

/** Below this number in the current generation, the share of removals is not checked. */
const minChecked = 20;

/** Formats a share for a message. */
const percent = (share: number) => `${Number((share * 100).toFixed(2))}%`;

/** Lists the reasons not to make a feed current, each a clause without a period. */
export function listViolations(
  { files, skus, styles, choices }: PersonalizationReport,
  { accepted, duplicates, rejected }: ImportReport,
  options: Pick<PersonalizationOptions, "max_removed_share" | "max_rejected_share">,
): string[] {
  const read = accepted + duplicates + rejected;
  return [
    ...(rejected > read * options.max_rejected_share
      ? [`${rejected} of ${read} rows were rejected${limit("max_rejected_share", options.max_rejected_share)}`]
      : []),
    ...files.flatMap((file) => emptyFile(file, { pzlines: skus, pzstyles: styles, pzchoices: choices }[file.list])),
    ...Object.entries({ SKUs: skus, styles, choices }).flatMap(([noun, difference]) =>
      removals(noun, difference, options.max_removed_share),
    ),
  ];
}

const limit = (setting: string, share: number) => (share === 0 ? "" : ` (${setting} allows ${percent(share)})`);

function emptyFile({ list, file, rows, isBlank, separator }: FileReport, difference: Difference | null): string[] {
  const isCsv = separator !== null;
  if (isBlank) {
    const expected = isCsv ? `expected the header ${lists[list].columns.join(", ")}` : "write an empty list as []";
    return [`${file}: the file is empty; ${expected}`];
  }
  // A list without rows may stay empty: some brands have no choices.
  const needsRows = list === "pzlines" || difference === null || difference.removed > 0;
  return rows === 0 && isCsv && needsRows ? [`${file}: the file has a header but no rows`] : [];
}

function removals(noun: string, difference: Difference | null, maxShare: number): string[] {
  if (difference === null) return [];
  const { total, added, removed } = difference;
  const before = total - added + removed;
  if (before < minChecked || removed <= before * maxShare) return [];
  return [`${removed} of ${before} ${noun} would be removed${limit("max_removed_share", maxShare)}`];
}
