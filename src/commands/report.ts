import {
  type Difference,
  formatRejectedRow,
  type ImportReport,
  type Occurrences,
  type PersonalizationReport,
} from "../model/import-report.ts";

/** What went wrong or is odd in an import, for people, line by line. */
export function describeProblems({ notes, rejections, overridden }: ImportReport): string[] {
  return [
    ...notes,
    ...rejections.flatMap(({ rows, examples, ...problem }) => [
      ...examples.map((example) => formatRejectedRow({ ...problem, ...example })),
      ...(rows > examples.length ? [`${rows - examples.length} more of: ${problem.reason}`] : []),
    ]),
    ...overridden.map((objection) => `forced, although ${objection}`),
  ];
}

/** What a feed holds, and how that differs from the current generation. */
export function describePersonalization(report: PersonalizationReport): string[] {
  const { files, skus, styles, choices, orphans, nonNumericSequences, statuses } = report;
  return [
    ...files.map(({ file, rows }) => `${file}: ${rows} rows`),
    ...Object.entries({ SKUs: skus, styles, choices }).flatMap(([what, difference]) =>
      difference === null ? [] : [`${what}: ${describeDifference(difference)}`],
    ),
    ...describeOccurrences("lines without their style", orphans.linesWithoutStyle),
    ...describeOccurrences("styles that no line offers", orphans.stylesWithoutLine),
    ...describeOccurrences("choice groups that no style uses", orphans.unusedChoiceGroups),
    ...describeOccurrences("display sequences that are no numbers", nonNumericSequences),
    ...Object.entries(statuses).map(
      ([column, counts]) =>
        `${column}: ${Object.entries(counts)
          .map(([code, rows]) => `${code || '""'} ${rows}`)
          .join(", ")}`,
    ),
  ];
}

function describeDifference({ total, added, changed, removed }: Difference): string {
  return `${total} (${added} added, ${changed} changed, ${removed} removed)`;
}

function describeOccurrences(what: string, { count, examples }: Occurrences): string[] {
  if (count === 0) return [];
  return [
    `${what}: ${count}`,
    ...examples.map((example) => `  ${example}`),
    ...(count > examples.length ? ["  …"] : []),
  ];
}
