/** @jsxImportSource hono/jsx */
import { truncate } from "../../base/format.ts";
import { parseId } from "../../base/id.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import type { AuditRecord } from "../../operators/audit.ts";
import { findAudit, listAudit, listOperators } from "../../operators/audit.ts";
import { EmptyState, ExactTime, Facts, NoMatch, StackedTime } from "../components/elements.tsx";
import { DayFields, FilterForm, parseDays, TextField } from "../components/fields.tsx";
import { RunReport } from "../components/run-report.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { toTableFile } from "../csv.ts";
import { queryParameter, urlOf } from "../urls.ts";

const recordsPerPage = 50;
const resultLength = 160;

/** `GET /audit?operator=&from=&to=&before=`: what operators did, newest first, in pages. */
export async function auditPage({ database }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const before = parseId(queryParameter(request, "before") ?? "");
  const operator = queryParameter(request, "operator");
  const days = parseDays(request);
  // One extra record shows whether there is another page.
  const found = await listAudit(database, { operator, ...days, before }, recordsPerPage + 1);
  const operators = await listOperators(database);
  const now = Date.parse(await readNow(database));
  const columns = auditColumns(now, request);
  const records = found.slice(0, recordsPerPage);
  const last = found.length > recordsPerPage ? records.at(-1)?.id : undefined;
  return {
    body: (
      <>
        <FilterForm action="/audit" hasFilters={(operator ?? days.firstDay ?? days.lastDay) !== undefined}>
          <TextField type="search" name="operator" label="Operator" value={operator} list="operators" />
          <datalist id="operators">
            {operators.map((name) => (
              <option value={name} />
            ))}
          </datalist>
          <DayFields days={days} />
        </FilterForm>
        <Table columns={columns} rows={records} label="Audit records, newest first">
          <NoRecords hasAny={operators.length > 0} />
        </Table>
        <nav class="pagination" aria-label="Pages">
          {operator !== undefined && (
            <a href={urlOf(request, { operator: undefined, before: undefined })}>All operators</a>
          )}
          {before !== undefined && <a href={urlOf(request, { before: undefined })}>Newest records</a>}
          {last !== undefined && <a href={urlOf(request, { before: last })}>Older records</a>}
          {records.length !== 0 && <a href={urlOf(request, { format: "csv" })}>Download as CSV</a>}
        </nav>
      </>
    ),
    file: toTableFile("audit", columns, records),
  };
}

const NoRecords = ({ hasAny }: { readonly hasAny: boolean }) =>
  hasAny ? (
    <NoMatch things="records" url="/audit" />
  ) : (
    <EmptyState title="No operator has done anything yet.">
      <p>Sign-ins and actions in this console, and actions on the command line, are listed here.</p>
    </EmptyState>
  );

const outcomeOf = ({ outcome }: AuditRecord) => outcome ?? "not known yet";

const auditColumns = (now: number, request: PageRequest): readonly Column<AuditRecord>[] => [
  {
    title: "Record",
    isNumber: true,
    value: ({ id }) => `${id}`,
    cell: ({ id }) => <a href={`/audit/${id}`}>{id}</a>,
  },
  { title: "When", value: ({ begunAt }) => begunAt, cell: ({ begunAt }) => <StackedTime at={begunAt} now={now} /> },
  {
    title: "Operator",
    value: ({ operator }) => operator,
    cell: ({ operator }) => <a href={urlOf(request, { operator, before: undefined })}>{operator}</a>,
  },
  { title: "From", value: ({ client }) => client, class: "nowrap" },
  { title: "Action", value: ({ action }) => action, class: "nowrap" },
  {
    title: "Subject",
    value: ({ subject }) => subject,
    cell: ({ subject }) => truncate(subject, resultLength),
    class: "reason",
  },
  { title: "Outcome", value: outcomeOf },
  {
    title: "Result",
    value: ({ result }) => result,
    cell: ({ result }) => truncate(result ?? "", resultLength),
    class: "reason",
  },
];

/** `GET /audit/:id`: one action, and the report of a dry run. */
export async function auditRecordPage(
  { database }: ConsoleContext,
  { parameter }: PageRequest,
): Promise<PageContent | undefined> {
  const id = parseId(parameter("id"));
  const record = id === undefined ? undefined : await findAudit(database, id);
  if (record === undefined) return undefined;
  const now = Date.parse(await readNow(database));
  return {
    title: `Audit record ${record.id}: ${record.action}`,
    body: (
      <>
        <Facts
          facts={[
            ["Operator", record.operator],
            ["From", record.client],
            ["Subject", record.subject],
            ["Begun", <ExactTime at={record.begunAt} now={now} />],
            ["Ended", record.endedAt === null ? "not known yet" : <ExactTime at={record.endedAt} now={now} />],
            ["Outcome", outcomeOf(record)],
            ["Result", record.result ?? ""],
          ]}
        />
        {record.outcome === null && (
          <EmptyState title="The action is in progress.">
            <p>
              <a href={`/audit/${record.id}`}>Load this page again</a> to see its result. If it still has none after
              minutes, the service or the command was stopped meanwhile, and part of the action may have been done.
            </p>
          </EmptyState>
        )}
        {record.report !== undefined && <RunReport report={record.report} />}
        <p>
          <a href="/audit">All audit records</a>
        </p>
      </>
    ),
  };
}
