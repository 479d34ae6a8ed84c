import type { Log } from "../log.ts";
import { findReplacement, thisProgram } from "../program.ts";

/** A message from a worker: its address once it listens, or its measurements. */
type FromWorker = { readonly listening: string } | { readonly reply: number; readonly value: unknown };
/** A request to a worker for its measurements. */
interface ToWorker {
  readonly request: number;
}

/** How long a worker may take to exit after the drain time, and to send its measurements. */
const stopMs = 15_000;
const measureMs = 2000;
const restartMs = 1000;

type Child = Bun.Subprocess<"ignore", "inherit", "inherit">;

export interface WorkersOptions {
  readonly count: number;
  /** 0 picks a free port. */
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** Child processes that serve on a shared port. One that exits is restarted. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #children = new Set<Child>();
  readonly #listening = new Set<Child>();
  readonly #pending = new Map<number, (value: unknown) => void>();
  /** The last measurements of each worker, including workers that have exited. */
  readonly #measurements = new Map<Child, unknown>();
  #requests = 0;
  #port: number;
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
    return url;
  }

  /** Returns how many workers serve; undefined if all do. */
  problem(): string | undefined {
    const { count } = this.#options;
    return this.#listening.size === count ? undefined : `${this.#listening.size} of ${count} serve`;
  }

  /**
   * Collects measurements. A worker that does not respond in time, or has exited, contributes its
   * last ones.
   */
  async measure<T>(): Promise<{ readonly running: T[]; readonly exited: T[] }> {
    await Promise.all([...this.#listening].map((child) => this.#measureOne(child)));
    const [running, exited]: [T[], T[]] = [[], []];
    for (const [child, value] of this.#measurements) (this.#children.has(child) ? running : exited).push(value as T);
    return { running, exited };
  }

  /**
   * Stops all workers: with the signal first, and with SIGKILL if they take much longer than
   * `drainMs`.
   */
  async stop(signal: "SIGTERM" | "SIGINT", drainMs: number): Promise<void> {
    this.#isStopping = true;
    const children = [...this.#children];
    for (const child of children) child.kill(signal);
    const killTimer = setTimeout(() => {
      for (const child of children) child.kill("SIGKILL");
    }, drainMs + stopMs);
    await Promise.all(children.map((child) => child.exited));
    clearTimeout(killTimer);
  }

  /** Lets the workers read the settings again. */
  reload(): void {
    for (const child of this.#listening) child.kill("SIGHUP");
  }

  #startOne(): Promise<string> {
    return new Promise((resolve, reject) => {
      const replacement = findReplacement();
      if (replacement !== undefined) return reject(new Error(replacement));
      const child: Child = Bun.spawn([...thisProgram(), "serve", "--worker"], {
        env: { ...process.env, ...this.#options.environment, PORT: `${this.#port}` },
        stdio: ["ignore", "inherit", "inherit"],
        ipc: (message: FromWorker) => {
          if ("listening" in message) {
            this.#listening.add(child);
            resolve(message.listening);
          } else this.#pending.get(message.reply)?.(message.value);
        },
      });
      this.#children.add(child);
      void child.exited.then((code) => {
        this.#children.delete(child);
        const hasListened = this.#listening.delete(child);
        if (!hasListened) reject(new Error(`a worker exited with status ${code} before it listened`));
        if (hasListened && !this.#isStopping) this.#restart(child.pid, code);
      });
    });
  }

  #restart(worker: number, code: number): void {
    const { log } = this.#options;
    log.error({ worker, code }, "a worker exited unexpectedly and is restarted");
    const restart = () => {
      if (this.#isStopping) return;
      this.#startOne().catch((error) => {
        log.error({ err: error }, "cannot restart a worker; retrying");
        setTimeout(restart, restartMs);
      });
    };
    setTimeout(restart, restartMs);
  }

  #measureOne(child: Child): Promise<void> {
    const request = ++this.#requests;
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, measureMs);
      this.#pending.set(request, (value) => {
        clearTimeout(timer);
        this.#measurements.set(child, value);
        resolve();
      });
      child.send({ request } satisfies ToWorker);
    }).finally(() => this.#pending.delete(request));
  }
}

/**
 * Connects a worker to its supervisor: sends the worker's URL and measurements, and stops the
 * worker if the supervisor exits.
 */
export function reportToSupervisor(url: string, measure: () => Promise<unknown>): void {
  const send = (message: FromWorker) => process.send?.(message);
  process.on("message", async ({ request }: ToWorker) => send({ reply: request, value: await measure() }));
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  send({ listening: url });
}
