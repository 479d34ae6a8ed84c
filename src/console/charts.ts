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

/** Leaves out jobs that have counted nothing. */
export const readCountCharts = (database: Database, kinds: readonly RunKind[]): Promise<JobChart[]> =>
  readCharts(kinds, async (kind) => {
    const series = await readCounts(database, kind);
    return series.points.some(({ value }) => value > 0) ? series : undefined;
  });

/** Leaves out jobs with a single run. */
export const readDurationCharts = (database: Database, kinds: readonly RunKind[]): Promise<JobChart[]> =>
  readCharts(kinds, async (kind) => {
    const runs = await listCounts(database, kind, runsPerSeries);
    const points = runs.map(({ startedAt, finishedAt }) => ({
      at: finishedAt,
      value: Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) / 1000,
    }));
    return points.length > 1 ? { name: kind.brand, points } : undefined;
  });

async function readCharts(
  kinds: readonly RunKind[],
  read: (kind: RunKind) => Promise<Series | undefined>,
): Promise<JobChart[]> {
  const lines = await Promise.all(kinds.map(async (kind) => ({ job: kind.job, line: await read(kind) })));
  return [...Map.groupBy(lines, ({ job }) => job)]
    .map(([job, each]) => ({ job, series: each.flatMap(({ line }) => line ?? []) }))
    .filter(({ series }) => series.length > 0);
}

/**
 * An import that finds nothing new counts nothing, but everything is still held: it continues the
 * line of the import before it.
 */
async function readCounts(database: Database, { job, brand }: RunKind): Promise<Series> {
  const isStep = countsAllStored(job);
  const runs = await listCounts(database, { job, brand }, runsPerSeries, isStep);
  const points = runs
    .map(({ counts, finishedAt }) => ({ at: finishedAt, value: counts }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  const last = points.at(-1);
  const until = last && isStep ? await findLastSuccess(database, job, brand) : undefined;
  if (last !== undefined && until !== undefined && until > last.at) points.push({ at: until, value: last.value });
  return { name: brand, points, isStep };
}
