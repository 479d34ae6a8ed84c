import type { Config } from "../config/index.ts";
import type { Log } from "../log.ts";
import { WorkerProcess } from "./worker-process.ts";

/** A worker that sent no heartbeat for this long hangs; with the interval, five seconds at most. */
const silenceMs = 4000;
const watchMs = 1000;
/** Pause before a worker is started again; it doubles with each failure, up to the maximum. */
const minRestartMs = 1000;
const maxRestartMs = 10_000;
/** A worker that has served for this long was no failure of the restart. */
const stableMs = 60_000;

export interface WorkersOptions {
  readonly count: number;
  /** 0 picks a free port. */
  readonly port: number;
  /**
   * Reads the settings of a worker that is about to start.
   * @throws ServiceError if they are invalid
   */
  readonly settings: () => Config;
  readonly log: Log;
  /** Receives the last measurements of a worker that has exited. */
  readonly onExit: (measurements: unknown) => void;
}

/** Together the workers look up as many products per minute as one process would. */
export const toWorkerConfig = (config: Config, count: number): Config => ({
  ...config,
  scheduler: "off",
  lookupsPerMinute: Math.ceil(config.lookupsPerMinute / count),
});

/** Child processes that serve on a shared port. One that exits or hangs is replaced. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #running = new Set<WorkerProcess>();
  #port: number;
  /** Those that were valid last. */
  #settings: Config | undefined;
  #reloads = 0;
  #restartMs = minRestartMs;
  #watchedAtMs = performance.now();
  #watchTimer: Timer | undefined;
  #replacing: Promise<void> | undefined;
  #isReplacementWanted = false;
  /** The worker whose replacement is being started. */
  #outgoing: WorkerProcess | undefined;
  #isStopping = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  /** @returns the URL that the workers share */
  async start(): Promise<string> {
    const url = await this.#startOne();
    // The first worker picks the free port. A URL without a port has the default port, which is not
    // 0.
    if (this.#port === 0) this.#port = Number(new URL(url).port);
    await Promise.all(Array.from({ length: this.#options.count - 1 }, () => this.#startOne()));
    this.#watchedAtMs = performance.now();
    this.#watchTimer = setInterval(() => this.#killHanging(), watchMs);
    return url;
  }

  /** Number of workers that serve. */
  get serving(): number {
    return this.#listening().length;
  }

  /** Returns how many workers serve; undefined if all do. */
  problem(): string | undefined {
    const { count } = this.#options;
    return this.serving >= count ? undefined : `${this.serving} of ${count} serve`;
  }

  /** Whether a worker has cached responses that it serves without the store. */
  servesWithoutStore(): boolean {
    return this.#listening().some(({ state }) => state?.servesWithoutStore === true);
  }

  /** How many workers serve, how many should, and the last change that all of their caches have noticed. */
  describe(): { readonly serving: number; readonly wanted: number; readonly lastChange: number } {
    const listening = this.#listening();
    const changes = listening.map(({ state }) => state?.lastChange ?? Number.POSITIVE_INFINITY);
    return { serving: listening.length, wanted: this.#options.count, lastChange: Math.min(...changes) };
  }

  /** Collects measurements. A worker that does not respond in time contributes its last ones. */
  async measure(): Promise<unknown[]> {
    await Promise.all(this.#listening().map((worker) => worker.measure()));
    return [...this.#running].map(({ measurements }) => measurements).filter((found) => found !== undefined);
  }

  /**
   * Replaces the workers one after the other. Each new one serves before an old one ends. Call it
   * again for settings that changed meanwhile: those that have started by then are replaced too.
   */
  replace(): Promise<void> {
    this.#isReplacementWanted = true;
    this.#replacing ??= this.#replaceWhileWanted().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  /** Stops all workers, which keep answering for the drain time unless it is urgent. */
  async stop(isUrgent: boolean): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#running].map((worker) => worker.end(isUrgent)));
    clearInterval(this.#watchTimer);
  }

  /** Lets the workers read the settings again. */
  reload(): void {
    this.#reloads++;
    for (const worker of this.#listening()) worker.kill("SIGHUP");
  }

  #listening(): WorkerProcess[] {
    return [...this.#running].filter(({ isListening }) => isListening);
  }

  async #startOne(settings = this.#options.settings()): Promise<string> {
    this.#settings = settings;
    const reloads = this.#reloads;
    const worker = new WorkerProcess({ ...settings, port: this.#port }, this.#options.count);
    this.#running.add(worker);
    let servedSinceMs: number | undefined;
    void worker.exited.then((code) => {
      this.#running.delete(worker);
      if (worker.measurements !== undefined) this.#options.onExit(worker.measurements);
      if (servedSinceMs === undefined || worker.isEnding || this.#isStopping) return;
      if (performance.now() - servedSinceMs > stableMs) this.#restartMs = minRestartMs;
      this.#options.log.error({ worker: worker.pid, code }, "a worker exited unexpectedly and is restarted");
      if (worker !== this.#outgoing) this.#restart();
    });
    const url = await worker.listening;
    servedSinceMs = performance.now();
    // Its settings were read before.
    if (this.#reloads > reloads) worker.kill("SIGHUP");
    return url;
  }

  #restart(): void {
    const pauseMs = this.#restartMs;
    this.#restartMs = Math.min(2 * pauseMs, maxRestartMs);
    setTimeout(() => {
      if (this.#isStopping) return;
      this.#startOne(this.#settingsForRestart()).catch((error) => {
        if (this.#isStopping) return;
        this.#options.log.error({ err: error }, "cannot restart a worker; retrying");
        this.#restart();
      });
    }, pauseMs);
  }

  /** An invalid edit of the file must not cost a worker. */
  #settingsForRestart(): Config | undefined {
    try {
      return this.#options.settings();
    } catch (error) {
      const { message } = error as Error;
      this.#options.log.error(
        { reason: message },
        "cannot read the settings; a worker is restarted with the former ones",
      );
      return this.#settings;
    }
  }

  /**
   * A worker that hangs still receives its share of new connections, which nobody answers, even
   * when it was told to end.
   */
  #killHanging(): void {
    const nowMs = performance.now();
    // After a pause of the supervisor or of the whole machine, the heartbeats are not yet read.
    const wasPaused = nowMs - this.#watchedAtMs > 2 * watchMs;
    this.#watchedAtMs = nowMs;
    for (const worker of this.#listening()) {
      if (wasPaused) worker.heardAtMs = nowMs;
      if (nowMs - worker.heardAtMs < silenceMs) continue;
      this.#options.log.error({ worker: worker.pid }, "a worker does not respond and is killed");
      worker.kill("SIGKILL");
    }
  }

  async #replaceWhileWanted(): Promise<void> {
    while (this.#isReplacementWanted && !this.#isStopping) {
      this.#isReplacementWanted = false;
      await this.#replaceAll();
    }
  }

  async #replaceAll(): Promise<void> {
    const { log } = this.#options;
    const old = [...this.#running];
    log.info({ workers: old.length }, "replacing the workers");
    for (const worker of old) {
      // One that is starting may have read its settings too early.
      await worker.listening.catch(() => {});
      if (this.#isStopping) return;
      if (!worker.isListening) continue;
      this.#outgoing = worker;
      try {
        await this.#startOne();
      } catch (error) {
        this.#outgoing = undefined;
        if (this.#isStopping) return;
        if (!worker.isListening) this.#restart();
        log.error({ err: error }, "cannot start a new worker; the remaining ones stay");
        return;
      }
      this.#outgoing = undefined;
      await worker.end(false);
    }
    log.info("replaced the workers");
  }
}
