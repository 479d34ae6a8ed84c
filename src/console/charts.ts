import type { Database } from "../database/database.ts";
import { countsHeld } from "../jobs/run.ts";
import { listCounts, type RunKind } from "../jobs/run-list.ts";
import { findLastSuccess } from "../jobs/runs.ts";
import type { Series } from "./components/chart.tsx";

export const runsPerSeries = 30;

/** One line for each brand. */
export interface JobChart {
  readonly job: string;
  readonly series: readonly Series[];
}

export const readCountCharts = async (database: Database, kinds: readonly RunKind[]): Promise<JobChart[]> =>
  toCharts(kinds, await Promise.all(kinds.map((kind) => readCounts(database, kind))), ({ points }) =>
    points.some(({ value }) => value > 0),
  );

export const readDurationCharts = async (database: Database, kinds: readonly RunKind[]): Promise<JobChart[]> =>
  toCharts(
    kinds,
    await Promise.all(kinds.map((kind) => readDurations(database, kind))),
    ({ points }) => points.length > 1,
  );

function toCharts(
  kinds: readonly RunKind[],
  series: readonly Series[],
  isShown: (series: Series) => boolean,
): JobChart[] {
  const lines = kinds.flatMap(({ job }, index) => {
    const line = series[index];
    return line !== undefined && isShown(line) ? [{ job, line }] : [];
  });
  return [...Map.groupBy(lines, ({ job }) => job)].map(([job, ofJob]) => ({
    job,
    series: ofJob.map(({ line }) => line),
  }));
}

/**
 * An import that finds nothing new counts nothing, but everything is still held: it continues the
 * line of the import before it.
 */
async function readCounts(database: Database, { job, brand }: RunKind): Promise<Series> {
  const isHeld = countsHeld(job);
  const runs = await listCounts(database, { job, brand }, runsPerSeries, isHeld);
  const points = runs
    .map(({ counts, finishedAt }) => ({ at: finishedAt, value: counts }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  const last = points.at(-1);
  const until = last && isHeld ? await findLastSuccess(database, job, brand) : undefined;
  if (last !== undefined && until !== undefined && until > last.at) points.push({ at: until, value: last.value });
  return { name: brand, points, isStep: isHeld };
}

async function readDurations(database: Database, kind: RunKind): Promise<Series> {
  const runs = await listCounts(database, kind, runsPerSeries);
  const points = runs.map(({ startedAt, finishedAt }) => ({
    at: finishedAt,
    value: Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) / 1000,
  }));
  return { name: kind.brand, points };
}
