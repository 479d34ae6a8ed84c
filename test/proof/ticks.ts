import { SQL } from "bun";
import { isCampaign } from "../support/pds.ts";

/** A run of a scheduled time. */
export interface TickRun {
  readonly job: string;
  readonly scheduledAt: string;
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
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

const pollMs = 1000;

/** Collects the runs. */
export class RunRecorder {
  readonly #url: () => string;
  readonly #runs = new Map<string, TickRun>();
  #isOver = false;
  readonly #stopped: Promise<void>;

  /** @param url of the server that is the primary now */
  constructor(url: () => string) {
    this.#url = url;
    this.#stopped = this.#record();
  }

  get runs(): TickRun[] {
    return [...this.#runs.values()].toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
  }

  stop(): Promise<void> {
    this.#isOver = true;
    return this.#stopped;
  }

  async #record(): Promise<void> {
    while (!this.#isOver) {
      // While there is no primary, nothing can be recorded.
      await this.#read().catch(() => {});
      await Bun.sleep(pollMs);
    }
  }

  async #read(): Promise<void> {
    await using sql = new SQL(this.#url(), { max: 1, connectionTimeout: 2 });
    const rows = await sql<TickRun[]>`
      SELECT job, scheduled_at AS "scheduledAt", attempt, started_at AS "startedAt", finished_at AS "finishedAt",
        outcome, reason
      FROM run WHERE scheduled_at IS NOT NULL`;
    for (const run of rows) this.#runs.set(`${run.job} ${run.scheduledAt} ${run.attempt} ${run.startedAt}`, run);
  }
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
