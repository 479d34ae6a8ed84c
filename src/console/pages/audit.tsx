/** @jsxImportSource hono/jsx */
import { findAudit, listAudit } from "../../database/audit.ts";
import { readNow } from "../../database/database.ts";
import { truncate, utcTime } from "../../format.ts";
import type { AuditRecord } from "../../model/audit.ts";
import type { PageRequest } from "../../page.ts";
import { EmptyState, ExactTime, Facts, Time } from "../components/elements.tsx";
import { RunReport } from "../components/run-report.tsx";
import { numeric, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { queryParameter, urlWithQuery } from "../urls.ts";

const recordsPerPage = 50;
const resultLength = 160;

/** `GET /audit?before=`: what operators did, newest first, in pages. */
export async function auditPage({ database }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const given = queryParameter(request, "before") ?? "";
  const before = /^[1-9]\d{0,8}$/.test(given) ? Number(given) : undefined;
  // One extra record shows whether there is another page.
  const found = await listAudit(database, before, recordsPerPage + 1);
  const now = Date.parse(await readNow(database));
  const records = found.slice(0, recordsPerPage);
  const last = found.length > recordsPerPage ? records.at(-1)?.id : undefined;
  return {
    body: (
      <>
        {records.length === 0 ? <NoRecords /> : <Records records={records} now={now} />}
        {before === undefined && last === undefined ? (
          ""
        ) : (
          <nav class="pagination" aria-label="Pages">
            {before === undefined ? "" : <a href="/audit">Newest records</a>}
            {last === undefined ? "" : <a href={urlWithQuery("/audit", { before: last })}>Older records</a>}
          </nav>
        )}
      </>
    ),
  };
}

const NoRecords = () => (
  <EmptyState title="No operator has done anything yet.">
    <p>Sign-ins and actions in this console are listed here.</p>
  </EmptyState>
);

const Records = ({ records, now }: { readonly records: readonly AuditRecord[]; readonly now: number }) => (
  <Table
    columns={[numeric("Record"), "When", "Operator", "From", "Action", "Subject", "Outcome", "Result"]}
    label="Audit records, newest first"
  >
    {records.map((record) => (
      <tr>
        <th scope="row" class="number">
          <a href={`/audit/${record.id}`}>{record.id}</a>
        </th>
        <td>
          <Time at={record.begunAt} now={now} />
          <div class="muted exact">{utcTime(record.begunAt)}</div>
        </td>
        <td>{record.operator}</td>
        <td class="nowrap">{record.client}</td>
        <td class="nowrap">{record.action}</td>
        <td class="reason">{truncate(record.subject, resultLength)}</td>
        <td>{outcomeOf(record)}</td>
        <td class="reason">{truncate(record.result ?? "", resultLength)}</td>
      </tr>
    ))}
  </Table>
);

const outcomeOf = ({ outcome }: AuditRecord) => outcome ?? "not known yet";

/** `GET /audit/:id`: one action, and the report of a dry run. */
export async function auditRecordPage(
  { database }: ConsoleContext,
  { parameter }: PageRequest,
): Promise<PageContent | undefined> {
  const id = /^[1-9]\d{0,8}$/.test(parameter("id")) ? Number(parameter("id")) : undefined;
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
        {record.outcome === null ? (
          <EmptyState title="The action is in progress.">
            <p>
              <a href={`/audit/${record.id}`}>Load this page again</a> to see its result. If it still has none after
              minutes, the service was stopped meanwhile, and part of the action may have been done.
            </p>
          </EmptyState>
        ) : (
          ""
        )}
        {record.report === undefined ? "" : <RunReport report={record.report} />}
        <p>
          <a href="/audit">All audit records</a>
        </p>
      </>
    ),
  };
}
