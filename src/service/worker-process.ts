import type { Config } from "../config/index.ts";
import { sendLine } from "../jobs/supervisor.ts";
import { findReplacement, thisProgram } from "../program.ts";

/** The state that a worker reports to its supervisor regularly. */
export interface WorkerState {
  /** Whether it has cached responses that it serves without the store. */
  readonly servesWithoutStore: boolean;
  /** Number of the last change that its cache has noticed. */
  readonly lastChange: number;
}

/** A message from a worker: its address once it listens, its state, or its measurements. */
type FromWorker =
  | { readonly listening: string }
  | { readonly state: WorkerState }
  | { readonly reply: number; readonly value: unknown };
/** A request to a worker for its measurements. */
interface ToWorker {
  readonly request: number;
}

const heartbeatMs = 1000;
/** How long a worker may take to listen, to send its measurements, and to exit after the drain time. */
const startMs = 30_000;
const measureMs = 2000;
const stopMs = 15_000;

/** One child process that serves. */
export class WorkerProcess {
  readonly #child: Bun.Subprocess<"pipe", "inherit", "inherit">;
  readonly #listening = Promise.withResolvers<string>();
  readonly #pending = new Map<number, (value: unknown) => void>();
  readonly #drainMs: number;
  #requests = 0;
  isListening = false;
  /** Set when the supervisor ends it on purpose. */
  isEnding = false;
  /** Time of its last message, by `performance.now()`. */
  heardAtMs = performance.now();
  /** Its last report. */
  state: WorkerState | undefined;
  /** Its last measurements. */
  measurements: unknown;

  /**
   * @param config its settings, because the file may have changed
   * @throws Error if this program was replaced meanwhile: the worker would be of another version
   */
  constructor(config: Config, siblings: number) {
    const replacement = findReplacement();
    if (replacement !== undefined) throw new Error(replacement);
    this.#drainMs = config.drainSeconds * 1000;
    this.#child = Bun.spawn([...thisProgram(), "serve", "--worker", "--workers", `${siblings}`], {
      stdio: ["pipe", "inherit", "inherit"],
      ipc: (message: FromWorker) => this.#receive(message),
    });
    sendLine(this.#child.stdin, JSON.stringify(config));
    const timer = setTimeout(() => this.kill("SIGKILL"), startMs);
    void this.#listening.promise.catch(() => {}).then(() => clearTimeout(timer));
    void this.exited.then((code) => {
      this.isListening = false;
      this.#listening.reject(new Error(`a worker exited with status ${code} before it listened`));
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  get exited(): Promise<number> {
    return this.#child.exited;
  }

  /** The URL where it serves. Rejects if it exits before. */
  get listening(): Promise<string> {
    return this.#listening.promise;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it: with a signal first, and with SIGKILL if that takes much longer than it should. */
  async end(isUrgent: boolean): Promise<void> {
    this.isEnding = true;
    this.kill(isUrgent ? "SIGINT" : "SIGTERM");
    const killTimer = setTimeout(() => this.kill("SIGKILL"), (isUrgent ? 0 : this.#drainMs) + stopMs);
    await this.exited;
    clearTimeout(killTimer);
  }

  /** Updates its measurements, unless it does not respond in time. */
  measure(): Promise<void> {
    const request = ++this.#requests;
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, measureMs);
      this.#pending.set(request, (value) => {
        clearTimeout(timer);
        this.measurements = value;
        resolve();
      });
      this.#child.send({ request } satisfies ToWorker);
    }).finally(() => this.#pending.delete(request));
  }

  #receive(message: FromWorker): void {
    this.heardAtMs = performance.now();
    if ("state" in message) this.state = message.state;
    else if ("listening" in message) {
      this.isListening = true;
      this.#listening.resolve(message.listening);
    } else this.#pending.get(message.reply)?.(message.value);
  }
}

/**
 * Connects a worker to its supervisor: sends the worker's URL, state, and measurements, and stops
 * the worker if the supervisor exits.
 */
export function reportToSupervisor(url: string, state: () => WorkerState, measure: () => Promise<unknown>): void {
  const send = (message: FromWorker) => process.send?.(message);
  process.on("message", async ({ request }: ToWorker) => send({ reply: request, value: await measure() }));
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  send({ listening: url });
  setInterval(() => send({ state: state() }), heartbeatMs).unref();
}
