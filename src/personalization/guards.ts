import type { PersonalizationOptions } from "../config/index.ts";
import { lists } from "../feed/lists.ts";
import type { Difference, FileReport, ImportReport, PersonalizationReport } from "../model/import-report.ts";

/** Of fewer than these in the current generation, a share says nothing. */
const fewest = 20;

const percent = (share: number) => `${Number((share * 100).toFixed(2))} %`;

/** What speaks against making a feed current, each in a sentence without its full stop. */
export function objectionsTo(
  { files, skus, styles, choices }: PersonalizationReport,
  { accepted, duplicates, rejected }: ImportReport,
  options: Pick<PersonalizationOptions, "max_removed_share" | "max_rejected_share">,
): string[] {
  const read = accepted + duplicates + rejected;
  return [
    ...(rejected > read * options.max_rejected_share
      ? [`${rejected} of ${read} were rejected${allowed("max_rejected_share", options.max_rejected_share)}`]
      : []),
    ...files.flatMap((file) => emptiness(file, { pzlines: skus, pzstyles: styles, pzchoices: choices }[file.list])),
    ...Object.entries({ SKUs: skus, styles, choices }).flatMap(([what, difference]) =>
      vanishing(what, difference, options.max_removed_share),
    ),
  ];
}

const allowed = (setting: string, share: number) => (share === 0 ? "" : ` (${setting} allows ${percent(share)})`);

function emptiness({ list, file, rows, isBlank, separator }: FileReport, difference: Difference | null): string[] {
  const isCsv = separator !== null;
  if (isBlank) {
    const expected = isCsv
      ? `expected a header of ${lists[list].columns.join(", ")}`
      : "an empty list is written as []";
    return [`${file}: empty; ${expected}`];
  }
  // A list that had nothing may go on so: a brand may have no choices at all.
  const mustHaveRows = list === "pzlines" || difference === null || difference.removed > 0;
  return rows === 0 && isCsv && mustHaveRows ? [`${file}: has a header and no rows`] : [];
}

function vanishing(what: string, difference: Difference | null, share: number): string[] {
  if (difference === null) return [];
  const { total, added, removed } = difference;
  const before = total - added + removed;
  if (before < fewest || removed <= before * share) return [];
  return [`${removed} of ${before} ${what} would vanish${allowed("max_removed_share", share)}`];
}
