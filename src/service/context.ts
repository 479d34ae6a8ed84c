import type { Config } from "../config/index.ts";
import type { DryRun } from "../jobs/dry-run.ts";
import type { PlannedJob } from "../jobs/job.ts";
import type { Scheduler } from "../jobs/scheduler.ts";
import type { Log } from "../log.ts";
import type { OperatorToken } from "../model/operator.ts";
import type { Connections } from "./connections.ts";
import type { Purging } from "./purge.ts";
import type { Push } from "./push.ts";
import type { RequestHandling } from "./requests.ts";

/**
 * The role of a process: everything, only serving as one of several workers, or supervising those
 * workers.
 */
export type Role =
  | { readonly kind: "standalone" }
  | { readonly kind: "worker" | "supervisor"; readonly workers: number };

/** Runs jobs on their schedules, and by hand. */
export interface ServiceScheduler extends Scheduler {
  /** Starts a run by hand. @returns its id @throws ServiceError `conflict` while the job is running */
  readonly startRun: (job: PlannedJob, isForced: boolean) => Promise<number>;
  /** @throws ServiceError `conflict` while the same dry run is in progress */
  readonly dryRun: (job: PlannedJob) => Promise<DryRun>;
}

/** The parts of a running service that its listeners use. */
export interface ServiceContext {
  /** Id of this process among those of the store. */
  readonly replica: string;
  readonly config: Config;
  readonly log: Log;
  readonly role: Role;
  readonly connections: Connections;
  /** The tokens of the admin listener; a reload replaces them. */
  tokens: readonly OperatorToken[];
  /** A reload replaces the jobs and their scheduler. */
  jobs: readonly PlannedJob[];
  scheduler: ServiceScheduler;
  readonly requests: RequestHandling;
  /** Undefined when the platform does not notify this service. */
  readonly push: Push | undefined;
  /** Undefined when this process does not purge a CDN. */
  readonly purging: Purging | undefined;
  /** Whether no job had ever succeeded when this process began. */
  readonly isNewStore: boolean;
}
