/** @jsxImportSource hono/jsx */
import { durationInWords, formatNumber, pluralize, utcTime } from "../../base/format.ts";
import type { PurgeFailure, PurgeRecord, PurgeStatus } from "../../cdn/position.ts";
import { Section, Time } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

export const Purge = ({ statuses, now }: { readonly statuses: readonly PurgeStatus[]; readonly now: number }) => (
  <Section id="purge" title="CDN" isLive>
    {statuses.map((status) => (
      <>
        <p>
          {status.target}: {describe(status)}
        </p>
        {status.recent.length !== 0 && (
          <Table columns={purgeColumns(now)} rows={status.recent} label={`Last purges of ${status.target}`} />
        )}
      </>
    ))}
  </Section>
);

const purgeColumns = (now: number): readonly Column<PurgeRecord>[] => [
  { title: "Purged", cell: ({ at }) => <Time at={at} now={now} /> },
  {
    title: "Changes",
    cell: ({ changes, isAll }) => {
      if (isAll) return "everything";
      return changes === 0 ? <span class="muted">those before, again</span> : formatNumber(changes);
    },
  },
  { title: "Tags", value: ({ tags }) => tags, isNumber: true },
  { title: "Requests", value: ({ requests }) => requests, isNumber: true },
];

function describe({ changes, oldestS, failure }: PurgeStatus): string {
  const failed = failure === undefined ? "" : ` ${describeFailure(failure)}`;
  if (changes === 0) return failure === undefined ? "all changes are purged." : `not purged.${failed}`;
  const age = oldestS === 0 ? "" : `, the oldest for ${durationInWords(oldestS)}`;
  return `${pluralize(changes, "change")} to purge${age}.${failed}`;
}

function describeFailure({ count, since, retryAt, reason }: PurgeFailure): string {
  const all = count === 1 ? "" : ` ${pluralize(count, "purge")} have failed in a row since ${utcTime(since)}.`;
  return `The last purge failed: ${reason}.${all} The next attempt is at ${utcTime(retryAt)}.`;
}
