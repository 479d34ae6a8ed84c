import { quoteIfOdd } from "../base/format.ts";
import {
  type Difference,
  formatRejectedRow,
  type ImportReport,
  type Occurrences,
  type PersonalizationReport,
  type PresentationReport,
  type Rejection,
} from "../jobs/import-report.ts";

export function describeProblems({ notes, rejections, overridden }: ImportReport): string[] {
  return [
    ...notes,
    ...rejections.flatMap(({ rows, examples, ...problem }) => [
      ...examples.map((example) => formatRejectedRow({ ...problem, ...example })),
      ...(rows > examples.length ? [describeMore(rows - examples.length, problem)] : []),
    ]),
    ...overridden.map((check) => `overridden by --force: ${check}`),
  ];
}

const describeMore = (rows: number, { field, reason }: Pick<Rejection, "field" | "reason">) =>
  `${rows} more: ${field === undefined ? "" : `${field}: `}${reason}`;

export const describeContent = ({ personalization, presentation }: ImportReport): string[] => [
  ...(personalization === undefined ? [] : describePersonalization(personalization)),
  ...(presentation === undefined ? [] : describePresentation(presentation)),
];

function describePersonalization(report: PersonalizationReport): string[] {
  const { files, skus, styles, choices, orphans, nonNumericSequences, statuses } = report;
  return [
    ...files.map(({ file, rows }) => `${file}: ${rows} rows`),
    ...Object.entries({ SKUs: skus, styles, choices }).flatMap(([noun, difference]) =>
      difference === null ? [] : [`${noun}: ${describeDifference(difference)}`],
    ),
    ...describeOccurrences("lines whose style is not defined", orphans.linesWithoutStyle),
    ...describeOccurrences("styles that no line offers", orphans.stylesWithoutLine),
    ...describeOccurrences("choice groups that no style uses", orphans.unusedChoiceGroups),
    ...(orphans.typesWithoutChoices === undefined ? [] : describeTypes(orphans.typesWithoutChoices)),
    ...describeOccurrences("display sequences that are not numbers", nonNumericSequences),
    ...Object.entries(statuses).map(([column, counts]) => `${column}: ${describeCounts(counts)}`),
  ];
}

function describePresentation(report: PresentationReport): string[] {
  const { file, locales, entries, codesWithoutNames, namesWithoutCodes } = report;
  return [
    `${file}: ${locales.length === 0 ? "no locales" : `locales ${locales.join(", ")}`}`,
    ...(entries === null ? [] : [`entries: ${describeDifference(entries)}`]),
    ...(codesWithoutNames === undefined ? [] : describeOccurrences("codes without names", codesWithoutNames)),
    ...(namesWithoutCodes === undefined ? [] : describeOccurrences("names without codes", namesWithoutCodes)),
  ];
}

function describeDifference({ total, added, changed, removed }: Difference): string {
  return `${total} (${added} added, ${changed} changed, ${removed} removed)`;
}

function describeOccurrences(title: string, { count, examples }: Occurrences): string[] {
  if (count === 0) return [];
  return [
    `${title}: ${count}`,
    ...examples.map((example) => `  ${example}`),
    ...(count > examples.length ? ["  …"] : []),
  ];
}

/** On one line, because they are names without files. */
function describeTypes({ count, examples }: Occurrences): string[] {
  if (count === 0) return [];
  return [
    `choice types without choices, for which shoppers type text: ${[...examples, ...(count > examples.length ? ["…"] : [])].join(", ")}`,
  ];
}

function describeCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([code, rows]) => `${quoteIfOdd(code)} ${rows}`)
    .join(", ");
}
