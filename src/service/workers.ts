import type { Log } from "../log.ts";
import { thisProgram } from "../program.ts";

/** What a worker says to the process that started it. */
export type FromWorker = { readonly listening: string } | { readonly reply: number; readonly value: unknown };
/** What that asks. */
export type ToWorker = { readonly ask: number };

/** How long a worker may take to end, and to answer. */
const stopMs = 15_000;
const answerMs = 2000;
/** How long to wait before one that ended by itself is started again. */
const restartMs = 1000;

type Child = Bun.Subprocess<"ignore", "inherit", "inherit">;

export interface WorkerOptions {
  readonly count: number;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** Processes that serve on one port, each begun anew when it ends. */
export class Workers {
  readonly #options: WorkerOptions;
  readonly #children = new Set<Child>();
  readonly #listening = new Set<Child>();
  readonly #questions = new Map<number, (value: unknown) => void>();
  /** What each last answered, also when it has ended since. */
  readonly #answers = new Map<Child, unknown>();
  #asked = 0;
  #port: number;
  #isStopping = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  /** Starts them all. @returns the address at which they listen */
  async start(): Promise<string> {
    const url = await this.#startOne();
    // The first one finds the port that the others share; the usual port of the web is not in an address.
    if (this.#port === 0) this.#port = Number(new URL(url).port);
    await Promise.all(Array.from({ length: this.#options.count - 1 }, () => this.#startOne()));
    return url;
  }

  /** Why not all of them serve, or undefined when they do. */
  problem(): string | undefined {
    const { count } = this.#options;
    return this.#listening.size === count ? undefined : `${this.#listening.size} of ${count} serve`;
  }

  /** Asks each for what it measures; of one that does not answer in time, or has ended, what it answered last counts. */
  async ask<T>(): Promise<{ readonly running: T[]; readonly ended: T[] }> {
    await Promise.all([...this.#listening].map((child) => this.#askOne(child)));
    const [running, ended]: [T[], T[]] = [[], []];
    for (const [child, answer] of this.#answers) (this.#children.has(child) ? running : ended).push(answer as T);
    return { running, ended };
  }

  /** Ends them all: told first, by the signal, and killed when they take much longer than `drainMs`. */
  async stop(signal: "SIGTERM" | "SIGINT", drainMs: number): Promise<void> {
    this.#isStopping = true;
    const children = [...this.#children];
    for (const child of children) child.kill(signal);
    const killing = setTimeout(() => {
      for (const child of children) child.kill("SIGKILL");
    }, drainMs + stopMs);
    await Promise.all(children.map((child) => child.exited));
    clearTimeout(killing);
  }

  #startOne(): Promise<string> {
    return new Promise((resolve, reject) => {
      const child: Child = Bun.spawn([...thisProgram(), "serve", "--worker"], {
        env: { ...process.env, ...this.#options.environment, PORT: `${this.#port}` },
        stdio: ["ignore", "inherit", "inherit"],
        ipc: (message: FromWorker) => {
          if ("listening" in message) {
            this.#listening.add(child);
            resolve(message.listening);
          } else this.#questions.get(message.reply)?.(message.value);
        },
      });
      this.#children.add(child);
      void child.exited.then((code) => {
        this.#children.delete(child);
        const hasListened = this.#listening.delete(child);
        if (!hasListened) reject(new Error(`a worker ended with ${code} before it listened`));
        if (hasListened && !this.#isStopping) this.#restart(child.pid, code);
      });
    });
  }

  #restart(worker: number, code: number): void {
    const { log } = this.#options;
    log.error({ worker, code }, "a worker ended by itself and is started again");
    const again = () => {
      if (this.#isStopping) return;
      this.#startOne().catch((error) => {
        log.error({ err: error }, "a worker could not be started again");
        setTimeout(again, restartMs);
      });
    };
    setTimeout(again, restartMs);
  }

  #askOne(child: Child): Promise<void> {
    const ask = ++this.#asked;
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, answerMs);
      this.#questions.set(ask, (value) => {
        clearTimeout(timer);
        this.#answers.set(child, value);
        resolve();
      });
      child.send({ ask } satisfies ToWorker);
    }).finally(() => this.#questions.delete(ask));
  }
}

/** A worker's side: says where it listens, answers what it is asked, and ends when nobody is there any more. */
export function reportToSupervisor(url: string, measure: () => Promise<unknown>): void {
  const send = (message: FromWorker) => process.send?.(message);
  process.on("message", async ({ ask }: ToWorker) => send({ reply: ask, value: await measure() }));
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  send({ listening: url });
}
