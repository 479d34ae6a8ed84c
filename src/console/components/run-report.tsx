/** @jsxImportSource hono/jsx */
import { formatNumber } from "../../base/format.ts";
import type { Difference, FileReport, ImportReport, Occurrences, Rejection } from "../../jobs/import-report.ts";
import { Facts, Section } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

export function RunReport({ report }: { readonly report: ImportReport }) {
  const { accepted, duplicates, rejected, rejections, notes, overridden, personalization, presentation } = report;
  return (
    <>
      <Section id="report" title="Report">
        <Facts
          facts={[
            ["Accepted", formatNumber(accepted)],
            ["Duplicates", formatNumber(duplicates)],
            ["Rejected", formatNumber(rejected)],
          ]}
        />
      </Section>
      {rejections.length !== 0 && (
        <Section id="rejections" title="Rejected rows">
          <Table columns={rejectionColumns} rows={rejections} label="Rejected rows by reason" />
        </Section>
      )}
      {personalization !== undefined && <PersonalizationDetails {...personalization} />}
      {presentation !== undefined && <PresentationDetails {...presentation} />}
      <TextList id="overridden" title="Overridden checks" texts={overridden} />
      <TextList id="notes" title="Notes" texts={notes} />
    </>
  );
}

const rejectionColumns: readonly Column<Rejection>[] = [
  { title: "Rows", value: ({ rows }) => rows, isNumber: true },
  {
    title: "Reason",
    isHeader: true,
    class: "reason",
    cell: ({ field, reason }) => (
      <>
        {field !== undefined && <code>{field}: </code>}
        {reason}
      </>
    ),
  },
  {
    title: "Examples",
    cell: ({ examples }) => (
      <ul class="plain-list">
        {examples.map(({ file, line, text }) => (
          <li>
            <code>
              {file}:{line}
            </code>{" "}
            {text !== undefined && <span class="muted excerpt">{text}</span>}
          </li>
        ))}
      </ul>
    ),
  },
];

type PersonalizationReport = NonNullable<ImportReport["personalization"]>;

const PersonalizationDetails = (report: PersonalizationReport) => (
  <>
    <Changes
      changes={[
        ["SKUs", report.skus],
        ["Styles", report.styles],
        ["Choices", report.choices],
      ]}
    />
    <DataQuality
      checks={[
        ["Lines with an undefined style", report.orphans.linesWithoutStyle],
        ["Styles that no line offers", report.orphans.stylesWithoutLine],
        ["Choice groups that no style uses", report.orphans.unusedChoiceGroups],
        ["Choice types without choices: shoppers type text", report.orphans.typesWithoutChoices],
        ["Sequences that are not numbers", report.nonNumericSequences],
      ]}
    />
    <Section id="statuses" title="Status codes">
      <Table columns={statusColumns} rows={statusRowsOf(report)} label="Status codes" />
    </Section>
    <Section id="files" title="Files">
      <Table columns={fileColumns} rows={report.files} label="Files" />
    </Section>
  </>
);

const PresentationDetails = (report: NonNullable<ImportReport["presentation"]>) => (
  <>
    <Changes changes={[["Entries", report.entries]]} />
    <DataQuality
      checks={[
        ["Codes without names", report.codesWithoutNames],
        ["Names without codes", report.namesWithoutCodes],
      ]}
    />
  </>
);

type Named<Value> = readonly [name: string, value: Value];

const changeColumns: readonly Column<Named<Difference>>[] = [
  { title: "Type", value: ([type]) => type },
  { title: "Total", value: ([, { total }]) => total, isNumber: true },
  { title: "Added", value: ([, { added }]) => added, isNumber: true },
  { title: "Changed", value: ([, { changed }]) => changed, isNumber: true },
  { title: "Removed", value: ([, { removed }]) => removed, isNumber: true },
];

const Changes = ({ changes }: { readonly changes: readonly Named<Difference | null>[] }) => (
  <Section id="changes" title="Changes">
    <Table columns={changeColumns} rows={withValue(changes)} label="Changes">
      <p>None to show: this was the brand's first import.</p>
    </Table>
  </Section>
);

const checkColumns: readonly Column<Named<Occurrences>>[] = [
  { title: "Count", value: ([, { count }]) => count, isNumber: true },
  { title: "Check", value: ([description]) => description, isHeader: true },
  { title: "Examples", value: ([, { examples }]) => examples.join(", "), class: "excerpt" },
];

/** Leaves out what was not checked. */
const DataQuality = ({ checks }: { readonly checks: readonly Named<Occurrences | undefined>[] }) => (
  <Section id="data-quality" title="Data quality">
    <Table columns={checkColumns} rows={withValue(checks)} label="Data quality" />
  </Section>
);

const withValue = <Value,>(all: readonly Named<Value | null | undefined>[]): Named<Value>[] =>
  all.flatMap(([name, value]) => (value == null ? [] : [[name, value]]));

const statusRowsOf = ({ statuses }: PersonalizationReport) =>
  Object.entries(statuses).flatMap(([column, codes]) =>
    Object.entries(codes).map(([code, rows]) => ({ column, code, rows })),
  );

const statusColumns: readonly Column<ReturnType<typeof statusRowsOf>[number]>[] = [
  { title: "Column", cell: ({ column }) => <code>{column}</code> },
  { title: "Code", cell: ({ code }) => (code === "" ? <span class="muted">empty</span> : code) },
  { title: "Rows", value: ({ rows }) => rows, isNumber: true },
];

const fileColumns: readonly Column<FileReport>[] = [
  { title: "File", value: ({ file }) => file },
  { title: "Rows", value: ({ rows }) => rows, isNumber: true },
  { title: "Encoding", value: ({ encoding }) => encoding },
  {
    title: "Delimiter",
    cell: ({ separator }) => (separator === null ? "none" : <code>{JSON.stringify(separator)}</code>),
  },
  { title: "SHA-256", cell: ({ sha256 }) => <code title={sha256}>{sha256.slice(0, 12)}…</code> },
];

type TextListProps = { readonly id: string; readonly title: string; readonly texts: readonly string[] };

const TextList = ({ texts, ...section }: TextListProps) =>
  texts.length === 0 ? (
    ""
  ) : (
    <Section {...section}>
      <ul>
        {texts.map((text) => (
          <li class="break-anywhere">{text}</li>
        ))}
      </ul>
    </Section>
  );
