import { ServiceError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Slots } from "../base/slots.ts";
import { abandonRuns, claimRun } from "./claim.ts";
import { type DryRun, dryRunInProcess } from "./dry-run.ts";
import type { PlannedJob } from "./job.ts";
import { findRunUnderWay } from "./runs.ts";
import { type SupervisorContext, supervise } from "./supervisor.ts";

export class ManualRuns {
  readonly #log: Log;
  readonly #slots: Slots;
  readonly #running = new Set<Promise<unknown>>();
  readonly #tried = new Set<string>();

  /** @param slots that the runs share with those on schedule */
  constructor(log: Log, slots: Slots) {
    this.#log = log;
    this.#slots = slots;
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /**
   * Starts a run in a process of its own, when there is a place for it, and waits for neither.
   * @param isForced whether to import although checks fail
   * @returns the run's id
   * @throws ServiceError `conflict` while another run of the job is in progress
   */
  async start(job: PlannedJob, isForced: boolean, context: SupervisorContext): Promise<number> {
    const { database, config, signal } = context;
    signal.throwIfAborted();
    const { name, brand } = job;
    // The locks of a lost run may block this one.
    await abandonRuns(database);
    const id = await claimRun(database, { job: name, brand }, config.leaseSeconds);
    if (id === undefined) {
      const other = await findRunUnderWay(database, name, brand);
      const run = other === undefined ? "a run" : `run ${other.id}, since ${other.startedAt},`;
      throw new ServiceError("conflict", `${run} of ${name} for ${brand} is in progress; try again when it has ended`);
    }
    const output = { arguments: isForced ? ["--force"] : [], stdout: "ignore", stderr: "pipe" } as const;
    this.#track(
      supervise(job, id, context, output, this.#slots).then(
        (run) => {
          const outcome = run === "released" || run === undefined ? "not recorded" : run.outcome;
          this.#log.info({ job: name, brand, run: id, outcome }, "manual run ended");
        },
        (error) => this.#log.error({ job: name, brand, run: id, err: error }, "manual run failed"),
      ),
    );
    return id;
  }

  /**
   * Does a dry run of a job in its own process.
   * @throws ServiceError `conflict` while the same dry run is in progress
   */
  async dryRun(job: PlannedJob, { config, signal }: SupervisorContext): Promise<DryRun> {
    const key = JSON.stringify([job.name, job.brand]);
    if (this.#tried.has(key)) {
      throw new ServiceError("conflict", `a dry run of ${job.name} for ${job.brand} is in progress`);
    }
    this.#tried.add(key);
    try {
      return await this.#track(dryRunInProcess(job, config, signal));
    } finally {
      this.#tried.delete(key);
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
    return tracked;
  }
}
