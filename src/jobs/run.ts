/** `abandoned`: no heartbeat until the lease expired. `cancelled`: ended by a person or an operation. */
export const outcomes = ["succeeded", "failed", "abandoned", "cancelled"] as const;
export type Outcome = (typeof outcomes)[number];

export const runStatuses = [...outcomes, "running"] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Times are ISO 8601 in UTC with milliseconds, by the database's clock. */
export interface Run {
  readonly id: number;
  readonly job: string;
  readonly brand: string;
  readonly scheduledAt: string | null;
  /** Counted from 1; a retry has a higher number. */
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** When the run counts as abandoned unless its process renews the lease. */
  readonly leaseUntil: string;
  readonly outcome: Outcome | null;
  /**
   * Changed or confirmed records. All-or-nothing imports count 0 if they fail; the catalog jobs write
   * product by product. A killed or abandoned run counts 0.
   */
  readonly counts: number;
  readonly reason: string | null;
  /** The end of the process's log, so far if it is running; null if the run succeeded. */
  readonly log: string | null;
  /** Who cancelled it, in words; null otherwise. Cancelled runs are not retried. */
  readonly cancelled: string | null;
  /** 1 if it ran immediately because its job had never succeeded, 0 otherwise. */
  readonly isFirst: 0 | 1;
}

/** Whether runs count everything that is stored afterward, instead of only what changed. */
export const countsAllStored = (job: string) => job.endsWith("-import");

export interface JobStatus {
  readonly job: string;
  readonly brand: string;
  readonly next: string | null;
  readonly last: Run | null;
  readonly runningSince: string | null;
  readonly lastSuccess: string | null;
  readonly age: number | null;
  readonly isStale: boolean;
  readonly isSlow: boolean;
  readonly isAhead: boolean;
  /** Null if not paused. A paused job is never stale. */
  readonly pausedSince: string | null;
  readonly pausedBy: string | null;
}

export interface JobHealth extends JobStatus {
  readonly source: string;
  readonly isImport?: boolean | undefined;
  /** When the first failed run since the last success began; null if the last run succeeded. */
  readonly failingSince: string | null;
  readonly schedule: string | null;
  readonly scheduleWords: string | null;
  /** Scheduled times since the last success, up to {@link countedTimes}. */
  readonly dueSince: number;
}

export const isOverridable = ({ outcome, reason }: Run) => outcome === "failed" && reason?.includes("--force") === true;

export const countedTimes = 20;

/**
 * A clock that was set back by less is waited for, so that no scheduled time runs twice. After a
 * larger step, which corrects a wrong clock, schedules continue from now.
 */
export const awaitedStepSeconds = 3 * 3600;

/** A run as the history operation returns it. */
export interface FinishedRun {
  readonly brand: string;
  readonly counts: number;
  readonly finishedAt: string;
}
