import { SQL } from "bun";
import { isCampaign } from "../support/pds.ts";

/** A run of a scheduled time. */
export interface TickRun {
  readonly job: string;
  readonly scheduledAt: string;
  readonly attempt: number;
  readonly outcome: string | null;
  readonly reason: string | null;
}

/** Jobs with the seconds between their scheduled times. */
export const schedules = {
  "history-retention": 10,
  // The short form ends within a minute.
  "personalization-import": isCampaign ? 60 : 15,
  "catalog-sync": 60,
} as const;
export type ScheduledJob = keyof typeof schedules;

/** The runs of scheduled times, in the order in which they began. */
export async function listRuns(url: string): Promise<TickRun[]> {
  await using sql = new SQL(url, { max: 1, connectionTimeout: 2 });
  return await sql<TickRun[]>`
    SELECT job, scheduled_at AS "scheduledAt", attempt, outcome, reason
    FROM run WHERE scheduled_at IS NOT NULL ORDER BY started_at`;
}

/** The scheduled times of a job between two times, in milliseconds since 1970. */
export function listTicks(job: ScheduledJob, fromMs: number, untilMs: number): number[] {
  const everyMs = schedules[job] * 1000;
  const firstMs = Math.ceil(fromMs / everyMs) * everyMs;
  return Array.from(
    { length: Math.max(0, Math.ceil((untilMs - firstMs) / everyMs)) },
    (_, index) => firstMs + index * everyMs,
  );
}

/** The scheduled times without a run that has ended, as `JOB TIME`. */
export function findLostTicks(runs: readonly TickRun[], fromMs: number, untilMs: number): string[] {
  const ended = new Set(
    runs.filter(({ outcome }) => outcome !== null).map(({ job, scheduledAt }) => `${job} ${Date.parse(scheduledAt)}`),
  );
  return (Object.keys(schedules) as ScheduledJob[]).flatMap((job) =>
    listTicks(job, fromMs, untilMs)
      .filter((ms) => !ended.has(`${job} ${ms}`))
      .map((ms) => `${job} ${new Date(ms).toISOString()}`),
  );
}
