import { type Database, readNow } from "../database/database.ts";
import type { PlannedJob } from "./job.ts";
import { findPause } from "./job-pause.ts";
import { findSchedule } from "./job-schedule.ts";
import { describeSchedule, isAhead, isSlow, isStale, nextRun } from "./plan.ts";
import { countedTimes, type JobHealth, type JobStatus } from "./run.ts";
import { listCounts } from "./run-list.ts";
import { findFailingSince, findLastRun, findLastScheduledRun, findLastSuccess, findRunUnderWay } from "./runs.ts";
import type { Schedule } from "./schedule.ts";

export async function listJobStatus(database: Database, jobs: readonly PlannedJob[]): Promise<JobStatus[]> {
  const now = Date.parse(await readNow(database));
  return await Promise.all(jobs.map((job) => getStatus(database, job, now)));
}

export async function listJobHealth(database: Database, jobs: readonly PlannedJob[]): Promise<JobHealth[]> {
  const now = Date.parse(await readNow(database));
  // Only the console needs it.
  const { scheduleInWords } = await import("./schedule-words.ts");
  return await Promise.all(
    jobs.map(async (job) => {
      const status = await getStatus(database, job, now);
      const { schedule } = job.plan;
      const { last } = status;
      const isFailing = last !== null && last.outcome !== "succeeded";
      return {
        ...status,
        failingSince: isFailing ? ((await findFailingSince(database, last)) ?? null) : null,
        source: job.source,
        isImport: job.isImport,
        schedule: schedule === undefined ? null : describeSchedule(schedule),
        scheduleWords: schedule === undefined ? null : scheduleInWords(schedule),
        dueSince: status.lastSuccess === null ? 0 : countTimes(schedule, Date.parse(status.lastSuccess), now),
      };
    }),
  );
}

function countTimes(schedule: Schedule | undefined, after: number, until: number): number {
  let count = 0;
  for (let at = schedule?.next(after) ?? Number.POSITIVE_INFINITY; at <= until && count < countedTimes; count++) {
    at = schedule?.next(at) ?? Number.POSITIVE_INFINITY;
  }
  return count;
}

/** The successful runs that one in progress is compared with. */
const comparedRuns = 20;

async function getStatus(database: Database, { name: job, brand, plan }: PlannedJob, now: number): Promise<JobStatus> {
  const [running, last, lastSuccess, lastScheduled, pause, followed] = await Promise.all([
    findRunUnderWay(database, job, brand),
    findLastRun(database, job, brand),
    findLastSuccess(database, job, brand),
    findLastScheduledRun(database, job, brand),
    findPause(database, job, brand),
    findSchedule(database, job, brand),
  ]);
  const succeeded = running === undefined ? [] : await listCounts(database, { job, brand }, comparedRuns);
  const { schedule } = plan;
  const isPaused = pause?.resumedAt === null;
  const resumed = pause?.resumedAt == null ? Number.NEGATIVE_INFINITY : Date.parse(pause.resumedAt);
  const isFollowed = schedule !== undefined && followed?.schedule === describeSchedule(schedule);
  // A schedule that no replica follows yet has not missed anything.
  const earliest = followed === undefined ? resumed : Math.max(resumed, isFollowed ? Date.parse(followed.since) : now);
  const next = isPaused ? undefined : schedule && nextRun({ ...plan, schedule }, lastScheduled, now, now, earliest).at;
  const hasMaxAge = schedule !== undefined || plan.staleMs !== undefined;
  const succeededAt = lastSuccess === undefined ? undefined : Date.parse(lastSuccess);
  return {
    job,
    brand,
    next: next === undefined ? null : new Date(next).toISOString(),
    last: last ?? null,
    runningSince: running?.startedAt ?? null,
    lastSuccess: lastSuccess ?? null,
    age: succeededAt === undefined ? null : Math.max(0, now - succeededAt) / 1000,
    isStale:
      !isPaused &&
      (succeededAt === undefined
        ? hasMaxAge && last !== undefined
        : isStale(plan, Math.max(succeededAt, resumed), running && Date.parse(running.startedAt), now)),
    isSlow: running !== undefined && isSlow(running, succeeded, now),
    isAhead: last !== undefined && isAhead(last.finishedAt ?? last.startedAt, now),
    pausedSince: isPaused ? pause.pausedAt : null,
    pausedBy: isPaused ? pause.pausedBy : null,
  };
}
