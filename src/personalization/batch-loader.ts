/** Loads rows in batches. While one is loaded, the rows of the next are made. */
export class BatchLoader<Row> implements AsyncDisposable {
  readonly #size: number;
  readonly #load: (rows: readonly Row[]) => Promise<void>;
  #rows: Row[] = [];
  #pending: Promise<void> | undefined;

  constructor(size: number, load: (rows: readonly Row[]) => Promise<void>) {
    this.#size = size;
    this.#load = load;
  }

  /** Adds a row. @returns whether the batch is full, and {@link send} should be called */
  add(row: Row): boolean {
    return this.#rows.push(row) >= this.#size;
  }

  /** Waits for the previous batch, then starts to load the added rows. @returns how many there are */
  async send(): Promise<number> {
    await this.#pending;
    const rows = this.#rows;
    this.#rows = [];
    this.#pending = this.#load(rows);
    // The next await throws the error.
    this.#pending.catch(() => {});
    return rows.length;
  }

  /** Waits until all that was sent is stored. */
  async finish(): Promise<void> {
    await this.#pending;
  }

  /** Waits for the pending batch, even if it fails, so that the connection is free again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.#pending]);
  }
}
