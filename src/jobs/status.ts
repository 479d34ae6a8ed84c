import { type Database, readNow } from "../database/database.ts";
import { findLastRun, findLastScheduledRun, findLastSuccess, findRunUnderWay } from "../database/run.ts";
import type { JobStatus } from "../job.ts";
import type { PlannedJob } from "./index.ts";
import { dueAfter, isStale } from "./plan.ts";

/** How each job does, by its stored runs. */
export async function listJobStatus(database: Database, jobs: readonly PlannedJob[]): Promise<JobStatus[]> {
  const now = Date.parse(await readNow(database));
  return await Promise.all(jobs.map((job) => statusOf(database, job, now)));
}

async function statusOf(database: Database, { name: job, brand, plan }: PlannedJob, now: number): Promise<JobStatus> {
  const [underWay, last, lastSuccess, lastScheduled] = await Promise.all([
    findRunUnderWay(database, job, brand),
    findLastRun(database, job, brand),
    findLastSuccess(database, job, brand),
    findLastScheduledRun(database, job, brand),
  ]);
  const { schedule } = plan;
  const next = schedule && dueAfter({ ...plan, schedule }, lastScheduled, now, now).at;
  const isWatched = schedule !== undefined || plan.staleMs !== undefined;
  const succeededAt = lastSuccess === undefined ? undefined : Date.parse(lastSuccess);
  return {
    job,
    brand,
    next: next === undefined ? null : new Date(next).toISOString(),
    last: last ?? null,
    runningSince: underWay?.startedAt ?? null,
    lastSuccess: lastSuccess ?? null,
    age: succeededAt === undefined ? null : Math.max(0, now - succeededAt) / 1000,
    isStale:
      succeededAt === undefined
        ? isWatched && last !== undefined
        : isStale(plan, succeededAt, underWay && Date.parse(underWay.startedAt), now),
  };
}
