/** @jsxImportSource hono/jsx */
import { formatNumber } from "../../base/format.ts";
import type {
  Difference,
  FileReport,
  ImportReport,
  Occurrences,
  PersonalizationReport,
  PresentationReport,
  Rejection,
} from "../../jobs/import-report.ts";
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
      {personalization !== undefined && <PersonalizationDetails report={personalization} />}
      {presentation !== undefined && <PresentationDetails report={presentation} />}
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

function PersonalizationDetails({ report }: { readonly report: PersonalizationReport }) {
  const { files, skus, styles, choices, statuses } = report;
  return (
    <>
      <Changes changes={{ SKUs: skus, Styles: styles, Choices: choices }} />
      <DataQuality checks={checksOf(report)} />
      <StatusCodes statuses={statuses} />
      <Section id="files" title="Files">
        <Table columns={fileColumns} rows={files} label="Files" />
      </Section>
    </>
  );
}

type Change = readonly [type: string, difference: Difference];

const changeColumns: readonly Column<Change>[] = [
  { title: "Type", value: ([type]) => type },
  { title: "Total", value: ([, { total }]) => total, isNumber: true },
  { title: "Added", value: ([, { added }]) => added, isNumber: true },
  { title: "Changed", value: ([, { changed }]) => changed, isNumber: true },
  { title: "Removed", value: ([, { removed }]) => removed, isNumber: true },
];

function Changes({ changes }: { readonly changes: Readonly<Record<string, Difference | null>> }) {
  const known = Object.entries(changes).flatMap(([name, change]): Change[] =>
    change === null ? [] : [[name, change]],
  );
  return (
    <Section id="changes" title="Changes">
      {known.length === 0 ? (
        <p>None to show: this was the brand's first import.</p>
      ) : (
        <Table columns={changeColumns} rows={known} label="Changes" />
      )}
    </Section>
  );
}

const PresentationDetails = ({ report: { entries, ...report } }: { readonly report: PresentationReport }) => (
  <>
    <Changes changes={{ Entries: entries }} />
    <DataQuality
      checks={[
        ["Codes without names", report.codesWithoutNames],
        ["Names without codes", report.namesWithoutCodes],
      ]}
    />
  </>
);

type Check = readonly [description: string, occurrences: Occurrences | undefined];

const checksOf = ({ orphans, nonNumericSequences }: PersonalizationReport): Check[] => [
  ["Lines with an undefined style", orphans.linesWithoutStyle],
  ["Styles that no line offers", orphans.stylesWithoutLine],
  ["Choice groups that no style uses", orphans.unusedChoiceGroups],
  ["Choice types without choices: shoppers type text", orphans.typesWithoutChoices],
  ["Sequences that are not numbers", nonNumericSequences],
];

const checkColumns: readonly Column<readonly [description: string, occurrences: Occurrences]>[] = [
  { title: "Count", value: ([, { count }]) => count, isNumber: true },
  { title: "Check", value: ([description]) => description, isHeader: true },
  { title: "Examples", value: ([, { examples }]) => examples.join(", "), class: "excerpt" },
];

/** Leaves out what was not checked. */
function DataQuality({ checks }: { readonly checks: readonly Check[] }) {
  const done = checks.flatMap(([description, occurrences]) =>
    occurrences === undefined ? [] : [[description, occurrences] as const],
  );
  return (
    <Section id="data-quality" title="Data quality">
      <Table columns={checkColumns} rows={done} label="Data quality" />
    </Section>
  );
}

interface StatusCount {
  readonly column: string;
  readonly code: string;
  readonly rows: number;
}

const statusColumns: readonly Column<StatusCount>[] = [
  { title: "Column", cell: ({ column }) => <code>{column}</code> },
  { title: "Code", cell: ({ code }) => (code === "" ? <span class="muted">empty</span> : code) },
  { title: "Rows", value: ({ rows }) => rows, isNumber: true },
];

const StatusCodes = ({ statuses }: Pick<PersonalizationReport, "statuses">) => (
  <Section id="statuses" title="Status codes">
    <Table
      columns={statusColumns}
      rows={Object.entries(statuses).flatMap(([column, codes]) =>
        Object.entries(codes).map(([code, rows]) => ({ column, code, rows })),
      )}
      label="Status codes"
    />
  </Section>
);

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

interface TextListProps {
  readonly id: string;
  readonly title: string;
  readonly texts: readonly string[];
}

function TextList({ id, title, texts }: TextListProps) {
  if (texts.length === 0) return "";
  return (
    <Section id={id} title={title}>
      <ul>
        {texts.map((text) => (
          <li class="break-anywhere">{text}</li>
        ))}
      </ul>
    </Section>
  );
}
