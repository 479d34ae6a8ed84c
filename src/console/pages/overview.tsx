/** @jsxImportSource hono/jsx */
import { readCatalogTruth } from "../../catalog/product-truth.ts";
import type { Database } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import type { JobHealth } from "../../jobs/run.ts";
import { listRunKinds, type RunKind } from "../../jobs/run-list.ts";
import { findLastRun, findLastSuccess, findRunUnderWay } from "../../jobs/runs.ts";
import { type JobChart, readCountCharts, runsPerSeries } from "../charts.ts";
import { Chart, ChartTable } from "../components/chart.tsx";
import { Section } from "../components/elements.tsx";
import { JobTable } from "../components/job-table.tsx";
import { Problems } from "../components/problems.tsx";
import { Purge } from "../components/purge.tsx";
import { Push } from "../components/push.tsx";
import { RunTimeline, readTimeline } from "../components/run-timeline.tsx";
import { CurrentGenerations, Totals } from "../components/stored-data.tsx";
import { Verification } from "../components/verification.tsx";
import { type ConsoleContext, type PageContent, type PageContext, publicRoot } from "../context.ts";
import { readServiceState } from "../service-state.ts";
import { elementId, queryParameter, urlWithQuery } from "../urls.ts";

/** `GET /`: problems, the last runs, stored data, the state of the jobs, and counts over time. */
export async function overviewPage(context: PageContext, request: PageRequest): Promise<PageContent> {
  const overview = await context.shared.readFor(request, "overview", () => readOverview(context, request));
  const { now, productCount, truth, generations, jobs, problems, timeline, push, purge, charts } = overview;
  const current = generations.filter(({ isCurrent }) => isCurrent);
  return {
    body: (
      <>
        <Problems
          problems={problems}
          scheduledJobs={jobs.filter(({ schedule }) => schedule !== null).length}
          now={now}
        />
        {timeline.rows.length !== 0 && (
          <RunTimeline timeline={timeline} urlOfPeriod={(period) => urlWithQuery("/runs", { period })} />
        )}
        <Section id="stored-data" title="Stored data" isLive>
          <Totals productCount={productCount} current={current} />
          {truth.products !== 0 && <Verification truth={truth} />}
          {current.length !== 0 && <CurrentGenerations generations={generations} now={now} />}
        </Section>
        <Section id="jobs" title="Jobs" isLive>
          <JobTable jobs={jobs} now={now} />
        </Section>
        {push !== undefined && <Push push={push} now={now} />}
        {purge.length !== 0 && <Purge statuses={purge} now={now} />}
        {charts.length !== 0 && <Charts charts={charts} table={queryParameter(request, "table")} />}
        <nav aria-labelledby="links">
          <h2 id="links">Links</h2>
          <ul class="links">
            {Object.entries(linksOf(context, publicRoot(context, request))).map(([text, url]) => (
              <li>
                <a href={url}>{text}</a>
              </li>
            ))}
          </ul>
        </nav>
      </>
    ),
    scripts: ["/console/refresh.js"],
  };
}

async function readOverview(context: PageContext, request: PageRequest) {
  const { database, shared } = context;
  const [state, truth, kinds] = await Promise.all([
    shared.readFor(request, "state", () => readServiceState(context)),
    readCatalogTruth(database),
    listRunKinds(database),
  ]);
  const { now, jobs } = state;
  const unconfigured = kinds.filter(({ job, brand }) => !jobs.some((each) => each.job === job && each.brand === brand));
  const [timeline, others, charts] = await Promise.all([
    readTimeline(context, kinds, "24h", now),
    Promise.all(unconfigured.map((kind) => readUnconfiguredJob(database, kind, now))),
    readCountCharts(database, kinds),
  ]);
  return { ...state, jobs: [...jobs, ...others], truth, timeline, charts };
}

/**
 * A job that has runs but isn't configured: it ran from the command line, or in another service on
 * the same store.
 */
async function readUnconfiguredJob(database: Database, { job, brand }: RunKind, now: number): Promise<JobHealth> {
  const [last, lastSuccess, current] = await Promise.all([
    findLastRun(database, job, brand),
    findLastSuccess(database, job, brand),
    findRunUnderWay(database, job, brand),
  ]);
  return {
    job,
    brand,
    next: null,
    last: last ?? null,
    runningSince: current?.startedAt ?? null,
    lastSuccess: lastSuccess ?? null,
    age: lastSuccess === undefined ? null : Math.max(0, now - Date.parse(lastSuccess)) / 1000,
    isStale: false,
    isSlow: false,
    isAhead: false,
    pausedSince: null,
    pausedBy: null,
    failingSince: null,
    source: "not configured here",
    schedule: null,
    scheduleWords: null,
    dueSince: 0,
  };
}

const linksOf = ({ examplePath }: ConsoleContext, root: string) => ({
  "Public API reference": `${root}/docs`,
  "OpenAPI document": `${root}/openapi.json`,
  "Job history (JSON)": `${root}/api/v1/histories/desc`,
  ...(examplePath !== undefined && { "Example page": root + examplePath }),
  Readiness: "/readyz",
  Metrics: "/metrics",
});

interface ChartsProps {
  readonly charts: readonly JobChart[];
  /** The job whose chart is also shown as a table. */
  readonly table: string | undefined;
}

/** Shows a table on demand: those of all charts would take up two thirds of the page. */
const Charts = ({ charts, table }: ChartsProps) => (
  <Section id="counts" title="Counts over time" isLive>
    <p class="muted">
      The stored rows or products after each import of new data; for other jobs, the count of each run. The last{" "}
      {runsPerSeries} runs, one line per brand.
    </p>
    <div class="charts">
      {charts.map(({ job, series }) => {
        const id = elementId("chart", job);
        return (
          <Chart id={id} title={job} series={series}>
            {job === table ? (
              <>
                <a href={`/#${id}`}>Hide the table</a>
                <ChartTable title={job} series={series} />
              </>
            ) : (
              <a href={`${urlWithQuery("/", { table: job })}#${id}`}>
                Show as table<span class="visually-hidden"> {job}</span>
              </a>
            )}
          </Chart>
        );
      })}
    </div>
  </Section>
);
