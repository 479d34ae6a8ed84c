import { type PersonalizationReport, reportedExamples } from "../../jobs/import-report.ts";
import { listNames } from "../lists.ts";
import type { Built } from "./build.ts";
import type { ReadFeed } from "./read-feed.ts";
import { statusColumn } from "./statistics.ts";

export function toReport({ files, statistics, linesWithoutStyle }: ReadFeed, built: Built): PersonalizationReport {
  const sequences = listNames.map((list) => statistics[list].nonNumericSequences);
  return {
    files,
    skus: built.skus,
    styles: built.styles,
    choices: built.choices,
    orphans: {
      linesWithoutStyle,
      stylesWithoutLine: built.stylesWithoutLine,
      unusedChoiceGroups: built.unusedChoiceGroups,
      typesWithoutChoices: built.typesWithoutChoices,
    },
    nonNumericSequences: {
      count: sequences.reduce((sum, { count }) => sum + count, 0),
      examples: sequences.flatMap(({ examples }) => examples).slice(0, reportedExamples),
    },
    statuses: Object.fromEntries(listNames.map((list) => [statusColumn(list), statistics[list].statuses])),
  };
}
