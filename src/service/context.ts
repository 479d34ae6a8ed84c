import type { Log } from "../base/log.ts";
import type { Config } from "../config/index.ts";
import type { DryRun } from "../jobs/dry-run.ts";
import type { PlannedJob } from "../jobs/job.ts";
import type { Scheduler } from "../jobs/scheduler.ts";
import type { Purging } from "./cdn.ts";
import type { Connections, WriteCheck } from "./connections.ts";
import type { DeliveryHandling } from "./push.ts";
import type { RequestHandling } from "./requests.ts";

export interface ServiceScheduler extends Scheduler {
  /**
   * @returns the run's id
   * @throws ServiceError `conflict` while the job is running
   */
  readonly startRun: (job: PlannedJob, isForced: boolean) => Promise<number>;
  /** @throws ServiceError `conflict` while the same dry run is in progress */
  readonly dryRun: (job: PlannedJob) => Promise<DryRun>;
}

export interface ServiceContext {
  readonly config: Config;
  readonly log: Log;
  readonly connections: Connections;
  readonly writes: Pick<WriteCheck, "problem">;
  readonly jobs: readonly PlannedJob[];
  readonly scheduler: ServiceScheduler;
  readonly requests: RequestHandling;
  /** Undefined when the platform does not notify this service. */
  readonly push: DeliveryHandling | undefined;
  /** Undefined when this process does not purge a CDN. */
  readonly purging: Purging | undefined;
  /** Whether no job had ever succeeded when this process started. */
  readonly isNewStore: boolean;
}
