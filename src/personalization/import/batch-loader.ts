import { setImmediate } from "node:timers/promises";

/** Even a few rows can exceed this: a single choice group may take megabytes. */
const maxBatchBytes = 2 * 2 ** 20;

/** Loads rows in batches. While one is loading, the next is built. */
export class BatchLoader<Row> implements AsyncDisposable {
  readonly #size: number;
  readonly #load: (rows: readonly Row[]) => Promise<void>;
  #rows: Row[] = [];
  #bytes = 0;
  #pending: Promise<void> | undefined;

  constructor(size: number, load: (rows: readonly Row[]) => Promise<void>) {
    this.#size = size;
    this.#load = load;
  }

  /**
   * @param bytes size of its content
   * @returns whether the batch is full, and {@link send} should be called
   */
  add(row: Row, bytes: number): boolean {
    this.#bytes += bytes;
    return this.#rows.push(row) >= this.#size || this.#bytes >= maxBatchBytes;
  }

  /** Waits for the previous batch, then starts to load the added rows. */
  async send(): Promise<void> {
    await this.#pending;
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    this.#pending = this.#load(rows);
    // The next await throws the error.
    this.#pending.catch(() => {});
    // Lets timers run, such as the heartbeat.
    await setImmediate();
  }

  async finish(): Promise<void> {
    await this.send();
    await this.#pending;
  }

  /** Waits for the pending batch, even if it fails, so that the connection is free again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.#pending]);
  }
}
