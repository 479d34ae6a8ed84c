/** @jsxImportSource hono/jsx */
import { formatNumber } from "../../format.ts";
import type {
  Difference,
  FileReport,
  ImportReport,
  Occurrences,
  PersonalizationReport,
  PresentationReport,
  Rejection,
} from "../../model/import-report.ts";
import { Facts, Section } from "./elements.tsx";
import { NumberCell, numeric, Table } from "./table.tsx";

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
      {rejections.length === 0 ? "" : <RejectedRows rejections={rejections} />}
      {personalization === undefined ? "" : <PersonalizationDetails report={personalization} />}
      {presentation === undefined ? "" : <PresentationDetails report={presentation} />}
      <TextList id="overridden" title="Overridden checks" texts={overridden} />
      <TextList id="notes" title="Notes" texts={notes} />
    </>
  );
}

const RejectedRows = ({ rejections }: { readonly rejections: readonly Rejection[] }) => (
  <Section id="rejections" title="Rejected rows">
    <Table columns={[numeric("Rows"), "Reason", "Examples"]} label="Rejected rows by reason">
      {rejections.map(({ field, reason, rows, examples }) => (
        <tr>
          <NumberCell value={rows} />
          <th scope="row" class="reason">
            {field === undefined ? "" : <code>{field}: </code>}
            {reason}
          </th>
          <td>
            <ul class="plain-list">
              {examples.map(({ file, line, text }) => (
                <li>
                  <code>
                    {file}:{line}
                  </code>{" "}
                  {text === undefined ? "" : <span class="muted excerpt">{text}</span>}
                </li>
              ))}
            </ul>
          </td>
        </tr>
      ))}
    </Table>
  </Section>
);

function PersonalizationDetails({ report }: { readonly report: PersonalizationReport }) {
  const { files, skus, styles, choices, statuses } = report;
  return (
    <>
      <Changes changes={{ SKUs: skus, Styles: styles, Choices: choices }} />
      <DataQuality checks={checksOf(report)} />
      <StatusCodes statuses={statuses} />
      <Files files={files} />
    </>
  );
}

function Changes({ changes }: { readonly changes: Readonly<Record<string, Difference | null>> }) {
  const known = Object.entries(changes).flatMap(([name, change]) => (change === null ? [] : [[name, change] as const]));
  return (
    <Section id="changes" title="Changes">
      {known.length === 0 ? (
        <p>None to show: this was the brand's first import.</p>
      ) : (
        <Table
          columns={["Type", numeric("Total"), numeric("Added"), numeric("Changed"), numeric("Removed")]}
          label="Changes"
        >
          {known.map(([name, { total, added, changed, removed }]) => (
            <tr>
              <th scope="row">{name}</th>
              {[total, added, changed, removed].map((count) => (
                <NumberCell value={count} />
              ))}
            </tr>
          ))}
        </Table>
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
  ["Sequences that are not numbers", nonNumericSequences],
];

/** Leaves out what was not checked. */
function DataQuality({ checks }: { readonly checks: readonly Check[] }) {
  return (
    <Section id="data-quality" title="Data quality">
      <Table columns={[numeric("Count"), "Check", "Examples"]} label="Data quality">
        {checks.map(([description, occurrences]) =>
          occurrences === undefined ? (
            ""
          ) : (
            <tr>
              <NumberCell value={occurrences.count} />
              <th scope="row">{description}</th>
              <td class="excerpt">{occurrences.examples.join(", ")}</td>
            </tr>
          ),
        )}
      </Table>
    </Section>
  );
}

const StatusCodes = ({ statuses }: Pick<PersonalizationReport, "statuses">) => (
  <Section id="statuses" title="Status codes">
    <Table columns={["Column", "Code", numeric("Rows")]} label="Status codes">
      {Object.entries(statuses).flatMap(([column, codes]) =>
        Object.entries(codes).map(([code, rows]) => (
          <tr>
            <th scope="row">
              <code>{column}</code>
            </th>
            <td>{code === "" ? <span class="muted">empty</span> : code}</td>
            <NumberCell value={rows} />
          </tr>
        )),
      )}
    </Table>
  </Section>
);

const Files = ({ files }: { readonly files: readonly FileReport[] }) => (
  <Section id="files" title="Files">
    <Table columns={["File", numeric("Rows"), "Encoding", "Delimiter", "SHA-256"]} label="Files">
      {files.map(({ file, rows, encoding, separator, sha256 }) => (
        <tr>
          <th scope="row">{file}</th>
          <NumberCell value={rows} />
          <td>{encoding}</td>
          <td>{separator === null ? "none" : <code>{JSON.stringify(separator)}</code>}</td>
          <td>
            <code title={sha256}>{sha256.slice(0, 12)}…</code>
          </td>
        </tr>
      ))}
    </Table>
  </Section>
);

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
