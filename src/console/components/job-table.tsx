/** @jsxImportSource hono/jsx */
import { relativeTime, utcTime } from "../../base/format.ts";
import type { JobHealth } from "../../jobs/run.ts";
import { elementId, urlWithQuery } from "../urls.ts";
import { EmptyState, LastRun, RunBadge, RunCount, Time } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

export const JobTable = ({ jobs, now }: { readonly jobs: readonly JobHealth[]; readonly now: number }) => (
  <Table columns={jobColumns(now)} rows={jobs} label="Jobs" idOf={({ job, brand }) => elementId("job", job, brand)}>
    <NoJobs />
  </Table>
);

const jobColumns = (now: number): readonly Column<JobHealth>[] => [
  {
    title: "Job",
    cell: ({ job, brand, source }) => (
      <>
        <a href={urlWithQuery("/runs", { job, brand })}>{job}</a> <span class="muted small">{source}</span>
      </>
    ),
    class: "nowrap",
  },
  { title: "Last run", cell: (health) => runsOf(health, now), class: "nowrap" },
  { title: "Brand", value: ({ brand }) => brand, class: "name" },
  { title: "Last success", cell: (health) => lastSuccessOf(health, now) },
  { title: "Count", cell: ({ last }) => (last === null ? "" : <RunCount run={last} />), isNumber: true },
  { title: "Next run", cell: (health) => nextRunOf(health, now) },
];

const lastSuccessOf = ({ lastSuccess, isStale, isAhead }: JobHealth, now: number) => (
  <>
    {lastSuccess === null ? <span class="muted">never</span> : <Time at={lastSuccess} now={now} />}
    {isStale && <div class="stale">stale</div>}
    {isAhead && <div class="stale">clock set back</div>}
  </>
);

function runsOf({ last, runningSince, isSlow }: JobHealth, now: number) {
  if (last === null && runningSince === null) return <span class="muted">never run</span>;
  return (
    <>
      {runningSince !== null && <RunBadge run={{ outcome: null }} />}
      {isSlow && <span class="stale"> unusually long</span>}{" "}
      {last !== null && <LastRun run={last} now={now} id={elementId("last-run", last.id)} />}
    </>
  );
}

function nextRunOf({ next, schedule, scheduleWords, pausedSince, pausedBy }: JobHealth, now: number) {
  if (pausedSince !== null) {
    return (
      <>
        <strong>paused</strong> <Time at={pausedSince} now={now} />
        <div class="muted">by {pausedBy}</div>
      </>
    );
  }
  if (next === null) return <span class="muted">manual only</span>;
  const text = Date.parse(next) <= now ? "due now" : relativeTime(Date.parse(next), now);
  return (
    <>
      <time datetime={next} title={utcTime(next)}>
        {text}
      </time>
      <div class="muted" title={schedule ?? ""}>
        {scheduleWords}
      </div>
    </>
  );
}

export const NoJobs = () => (
  <EmptyState title="No jobs are configured, and none have run.">
    <p>
      Add a table such as <code>[jobs.catalog-import]</code> to <code>pds.toml</code>, or import from the command line:{" "}
      <code>pds import products FILE</code>, <code>pds import personalization FOLDER</code>.
    </p>
  </EmptyState>
);
