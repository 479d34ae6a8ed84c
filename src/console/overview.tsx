/** @jsxImportSource hono/jsx */

import { readNow } from "../database/database.ts";
import { type Generation, listGenerations } from "../database/generation.ts";
import { countProducts } from "../database/product.ts";
import {
  findLastRun,
  findLastSuccess,
  findRunUnderWay,
  listCounts,
  listRunKinds,
  type RunKind,
} from "../database/run.ts";
import type { JobHealth } from "../job.ts";
import { type Concern, listConcerns } from "./attention.ts";
import { Chart, type Series } from "./chart.tsx";
import { type ConsoleContext, publicOrigin } from "./context.ts";
import { counted } from "./format.ts";
import { Brands, Tiles } from "./holdings.tsx";
import { Jobs, NoJobs } from "./job-table.tsx";
import { Layout } from "./layout.tsx";
import { type PageRequest, type Render, toPage } from "./page.ts";

/** Runs of a job and brand that a chart shows. */
const chartedRuns = 30;

/** `GET /`: what the service holds, and whether its jobs ran. */
export function overviewPage(context: ConsoleContext): Render {
  return async (request) => {
    const overview = await readOverview(context);
    return toPage(<Overview {...overview} links={linksOf(context, request)} />);
  };
}

interface Overview {
  readonly now: number;
  readonly products: number;
  readonly generations: readonly Generation[];
  readonly jobs: readonly JobHealth[];
  readonly concerns: readonly Concern[];
  readonly charts: readonly { readonly job: string; readonly series: Series[] }[];
}

async function readOverview({ database, jobs }: ConsoleContext): Promise<Overview> {
  const [instant, products, generations, configured, kinds] = await Promise.all([
    readNow(database),
    countProducts(database),
    listGenerations(database),
    jobs(),
    listRunKinds(database),
  ]);
  const now = Date.parse(instant);
  const known = new Set(configured.map(keyOf));
  const unknown = kinds.filter((kind) => !known.has(keyOf(kind)));
  const [others, charts] = await Promise.all([
    Promise.all(unknown.map((kind) => healthOf(database, kind, now))),
    readCharts(database, kinds),
  ]);
  const brands = generations.map(({ brand }) => brand);
  return {
    now,
    products,
    generations,
    jobs: [...configured, ...others],
    concerns: listConcerns(configured, brands, products, now),
    charts,
  };
}

const keyOf = ({ job, brand }: RunKind) => JSON.stringify([job, brand]);

/** A job that nobody has configured here, but that has run: by hand, or for another service. */
async function healthOf(
  database: ConsoleContext["database"],
  { job, brand }: RunKind,
  now: number,
): Promise<JobHealth> {
  const [last, lastSuccess, underWay] = await Promise.all([
    findLastRun(database, job, brand),
    findLastSuccess(database, job, brand),
    findRunUnderWay(database, job, brand),
  ]);
  return {
    job,
    brand,
    next: null,
    last: last ?? null,
    runningSince: underWay?.startedAt ?? null,
    lastSuccess: lastSuccess ?? null,
    age: lastSuccess === undefined ? null : Math.max(0, now - Date.parse(lastSuccess)) / 1000,
    isStale: false,
    source: "not configured here",
    schedule: null,
    dueSince: 0,
  };
}

/** A chart for each job that counts something, with a line for each brand. */
async function readCharts(
  database: ConsoleContext["database"],
  kinds: readonly RunKind[],
): Promise<Overview["charts"]> {
  const counts = await Promise.all(
    kinds.map(async (kind) => ({ ...kind, points: await listCounts(database, kind, chartedRuns) })),
  );
  const counting = counts.filter(({ points }) => points.some((point) => point.counts > 0));
  return [...Map.groupBy(counting, ({ job }) => job)].map(([job, lines]) => ({
    job,
    series: lines.map(({ brand, points }) => ({
      name: brand,
      points: points.map((point) => ({ at: point.finishedAt, value: point.counts })),
    })),
  }));
}

interface Link {
  readonly address: string;
  readonly text: string;
}

function linksOf(context: ConsoleContext, request: PageRequest): Link[] {
  const origin = publicOrigin(context, request);
  return [
    { address: `${origin}/docs`, text: "Reference of the public API" },
    { address: `${origin}/api/v1/histories/desc`, text: "History, as clients see it" },
    { address: `${origin}/openapi.json`, text: "OpenAPI document" },
    ...(context.examplePath === undefined ? [] : [{ address: origin + context.examplePath, text: "Example page" }]),
    { address: "/readyz", text: "Readiness" },
    { address: "/metrics", text: "Metrics" },
  ];
}

function Overview({ links, ...overview }: Overview & { readonly links: readonly Link[] }) {
  const { now, products, generations, jobs, concerns, charts } = overview;
  const current = generations.filter(({ isCurrent }) => isCurrent);
  return (
    <Layout title="Overview" section="/" scripts={["/console/live.js"]}>
      <Attention concerns={concerns} jobs={jobs.filter(({ schedule }) => schedule !== null).length} />
      <section aria-labelledby="held" data-live="held">
        <h2 id="held">What the service holds</h2>
        <Tiles products={products} current={current} />
        {current.length === 0 ? "" : <Brands generations={generations} now={now} />}
      </section>
      <section aria-labelledby="jobs" data-live="jobs">
        <h2 id="jobs">Jobs</h2>
        {jobs.length === 0 ? <NoJobs /> : <Jobs jobs={jobs} now={now} />}
      </section>
      {charts.length === 0 ? (
        ""
      ) : (
        <section aria-labelledby="counts" data-live="counts">
          <h2 id="counts">Counts over time</h2>
          <p class="quiet">
            What the last {chartedRuns} successful runs of each job have counted, a line for each brand.
          </p>
          <div class="charts">
            {charts.map(({ job, series }, index) => (
              <Chart id={`chart-${index}`} title={job} series={series} />
            ))}
          </div>
        </section>
      )}
      <nav aria-labelledby="elsewhere">
        <h2 id="elsewhere">Elsewhere</h2>
        <ul class="links">
          {links.map(({ address, text }) => (
            <li>
              <a href={address}>{text}</a>
            </li>
          ))}
        </ul>
      </nav>
    </Layout>
  );
}

function Attention({ concerns, jobs }: { readonly concerns: readonly Concern[]; readonly jobs: number }) {
  if (concerns.length === 0) {
    const scheduled = jobs === 0 ? "No job has a schedule." : `${counted(jobs, "scheduled job")}, none overdue.`;
    return (
      <section class="attention fine" aria-label="What needs attention" data-live="attention">
        <p>
          <strong>Everything is fine.</strong> {scheduled}
        </p>
      </section>
    );
  }
  return (
    <section class="attention" aria-labelledby="attention" data-live="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {concerns.map(({ text, address }) => (
          <li>
            {text} {address === undefined ? "" : <a href={address}>See the run{address.includes("?") ? "s" : ""}</a>}
          </li>
        ))}
      </ul>
    </section>
  );
}
