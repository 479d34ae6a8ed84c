import type { LoadedRows, PlacedRow } from "../database/generation-loading.ts";

/** Rows that one transaction loads: as many as others who want to write may wait for. */
const rowsPerTransaction = 50_000;

/** Loads rows in transactions: one is on its way while the rows of the next are read. */
export class GenerationLoader implements AsyncDisposable {
  readonly #load: (rows: LoadedRows) => Promise<void>;
  #underWay: Promise<void> | undefined;
  #fresh: PlacedRow[] = [];
  #repeated: PlacedRow[] = [];

  constructor(load: (rows: LoadedRows) => Promise<void>) {
    this.#load = load;
  }

  get isFull(): boolean {
    return this.#fresh.length + this.#repeated.length >= rowsPerTransaction;
  }

  /** @param isNew whether the key is; of one that comes again the last row wins */
  add(row: PlacedRow, isNew: boolean): void {
    (isNew ? this.#fresh : this.#repeated).push(row);
  }

  /** Sends off what was added, once what went before it is stored. */
  async send(): Promise<void> {
    await this.#underWay;
    const rows = { fresh: this.#fresh, repeated: this.#repeated };
    this.#fresh = [];
    this.#repeated = [];
    this.#underWay = this.#load(rows);
    // Whoever waits for it next is told.
    this.#underWay.catch(() => {});
  }

  /** Sends the rest off, and waits until everything is stored. */
  async finish(): Promise<void> {
    await this.send();
    await this.#underWay;
  }

  /** Waits for what is under way, however it ends: until then the store is not to be asked for anything else. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.#underWay]);
  }
}
