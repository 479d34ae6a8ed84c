import type { LoadedRows, PlacedRow } from "../database/generation-loading.ts";

/** Limits how long a transaction blocks other writers. */
const rowsPerTransaction = 50_000;

/** Loads rows in transactions. While one is loaded, the rows of the next are read. */
export class GenerationLoader implements AsyncDisposable {
  readonly #load: (rows: LoadedRows) => Promise<void>;
  #pendingLoad: Promise<void> | undefined;
  #fresh: PlacedRow[] = [];
  #repeated: PlacedRow[] = [];

  constructor(load: (rows: LoadedRows) => Promise<void>) {
    this.#load = load;
  }

  get isFull(): boolean {
    return this.#fresh.length + this.#repeated.length >= rowsPerTransaction;
  }

  /** @param isNew whether the row's key is new; of several rows with a key, the last one wins */
  add(row: PlacedRow, isNew: boolean): void {
    (isNew ? this.#fresh : this.#repeated).push(row);
  }

  /** Waits for the previous load, then starts to load the added rows. */
  async send(): Promise<void> {
    await this.#pendingLoad;
    const rows = { fresh: this.#fresh, repeated: this.#repeated };
    this.#fresh = [];
    this.#repeated = [];
    this.#pendingLoad = this.#load(rows);
    // The next await throws the error.
    this.#pendingLoad.catch(() => {});
  }

  /** Loads the remaining rows and waits until all are stored. */
  async finish(): Promise<void> {
    await this.send();
    await this.#pendingLoad;
  }

  /** Waits for the pending load, even if it fails, so that the connection is free again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.#pendingLoad]);
  }
}
