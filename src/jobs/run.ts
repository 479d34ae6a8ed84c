/**
 * How a run ended. `abandoned`: its process sent no heartbeat until its lease expired. `cancelled`:
 * somebody ended it.
 */
export const outcomes = ["succeeded", "failed", "abandoned", "cancelled"] as const;
export type Outcome = (typeof outcomes)[number];

/** The status of a run: its outcome, or `running` while it has none. */
export const runStatuses = [...outcomes, "running"] as const;
export type RunStatus = (typeof runStatuses)[number];

/**
 * One execution of a job for a brand. Times are ISO 8601 in UTC with milliseconds, by the
 * database's clock.
 */
export interface Run {
  readonly id: number;
  readonly job: string;
  readonly brand: string;
  /** The scheduled time; null if the schedule did not start this run. */
  readonly scheduledAt: string | null;
  /** Counted from 1; a retry has a higher number. */
  readonly attempt: number;
  readonly startedAt: string;
  /** Null while it is running. */
  readonly finishedAt: string | null;
  /** When the run counts as abandoned unless its process renews the lease. */
  readonly leaseUntil: string;
  readonly outcome: Outcome | null;
  /**
   * The records that it changed or confirmed. An import is all or nothing, so one that fails counts
   * 0; the catalog jobs write product by product. A run that was killed or abandoned counts 0.
   */
  readonly counts: number;
  /** Why it did not succeed; null otherwise. */
  readonly reason: string | null;
  /** The last lines of its process's log if it did not succeed; null otherwise. */
  readonly log: string | null;
  /** By whom it is or was cancelled, in words; null otherwise. It is not retried. */
  readonly cancelled: string | null;
  /** 1 if it ran at once because its job had never succeeded, 0 otherwise. */
  readonly isFirst: 0 | 1;
}

/** Whether the runs of a job count all that is held afterwards, and not only what they changed. */
export const countsHeld = (job: string) => job.endsWith("-import");

/** The status of a configured job. Times as in {@link Run}. */
export interface JobStatus {
  readonly job: string;
  readonly brand: string;
  /** The next scheduled run; null without a schedule, and while the job is paused. */
  readonly next: string | null;
  /** The newest finished run; null before the first. */
  readonly last: Run | null;
  /** When the current run started; null while the job is not running. */
  readonly runningSince: string | null;
  /** When the last successful run finished; null if none has succeeded. */
  readonly lastSuccess: string | null;
  /** Seconds since the last success. */
  readonly age: number | null;
  /** Whether the last success is too old. */
  readonly isStale: boolean;
  /** Whether the newest run is from the future: the database's clock was set back since. */
  readonly isAhead: boolean;
  /** Since when it is paused; null while it is not. A paused job is never stale. */
  readonly pausedSince: string | null;
  /** Name of the person who paused it; null while it is not paused. */
  readonly pausedBy: string | null;
}

/** The status of a job with details for the console. */
export interface JobHealth extends JobStatus {
  /** The data that the job reads, for display. */
  readonly source: string;
  /** Whether it can be tried in a dry run. */
  readonly isImport?: boolean | undefined;
  /** Since when its runs have not succeeded; null if the last one did. */
  readonly failingSince: string | null;
  /** The cron expression with its time zone; null without a schedule. */
  readonly schedule: string | null;
  /** The same in words. */
  readonly scheduleWords: string | null;
  /** The number of scheduled times since the last success, counted up to {@link countedTimes}. */
  readonly dueSince: number;
}

/** Whether a run failed because of checks that a forced run overrides. */
export const isOverridable = ({ outcome, reason }: Run) => outcome === "failed" && reason?.includes("--force") === true;

export const countedTimes = 20;

/**
 * How far the clock may be set back so that schedules wait for it: no scheduled time has two runs.
 * After a larger step, which corrects a wrong clock, they continue from now.
 */
export const awaitedStepSeconds = 3 * 3600;

/** A run as the history operation returns it. */
export interface FinishedRun {
  readonly brand: string;
  readonly counts: number;
  readonly finishedAt: string;
}
