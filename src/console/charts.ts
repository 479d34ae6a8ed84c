import type { Database } from "../database/database.ts";
import { countsAllStored } from "../jobs/run.ts";
import { listCounts, type RunKind } from "../jobs/run-list.ts";
import { findLastSuccess } from "../jobs/runs.ts";
import type { Series } from "./components/chart.tsx";

export const runsPerSeries = 30;

/** One line for each brand. */
export interface JobChart {
  readonly job: string;
  readonly series: readonly Series[];
}

export const readCountCharts = (database: Database, kinds: readonly RunKind[]): Promise<JobChart[]> =>
  readCharts(
    kinds,
    (kind) => readCounts(database, kind),
    ({ points }) => points.some(({ value }) => value > 0),
  );

export const readDurationCharts = (database: Database, kinds: readonly RunKind[]): Promise<JobChart[]> =>
  readCharts(
    kinds,
    (kind) => readDurations(database, kind),
    ({ points }) => points.length > 1,
  );

async function readCharts(
  kinds: readonly RunKind[],
  read: (kind: RunKind) => Promise<Series>,
  isShown: (series: Series) => boolean,
): Promise<JobChart[]> {
  const lines = await Promise.all(kinds.map(async (kind) => ({ job: kind.job, line: await read(kind) })));
  const shown = lines.filter(({ line }) => isShown(line));
  return [...Map.groupBy(shown, ({ job }) => job)].map(([job, each]) => ({
    job,
    series: each.map(({ line }) => line),
  }));
}

/**
 * An import that finds nothing new counts nothing, but everything is still held: it continues the
 * line of the import before it.
 */
async function readCounts(database: Database, { job, brand }: RunKind): Promise<Series> {
  const countsAll = countsAllStored(job);
  const runs = await listCounts(database, { job, brand }, runsPerSeries, countsAll);
  const points = runs
    .map(({ counts, finishedAt }) => ({ at: finishedAt, value: counts }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  const last = points.at(-1);
  const until = last && countsAll ? await findLastSuccess(database, job, brand) : undefined;
  if (last !== undefined && until !== undefined && until > last.at) points.push({ at: until, value: last.value });
  return { name: brand, points, isStep: countsAll };
}

async function readDurations(database: Database, kind: RunKind): Promise<Series> {
  const runs = await listCounts(database, kind, runsPerSeries);
  const points = runs.map(({ startedAt, finishedAt }) => ({
    at: finishedAt,
    value: Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) / 1000,
  }));
  return { name: kind.brand, points };
}
