import type { Cell } from "../engines/insert-rows.ts";
import type { Counters } from "./tables.ts";

/** The content of a store on its way to a file or to another store. */
export interface StoreStream {
  readonly header: StreamHeader;
  /** @param isWanted whether to read a generation's tables; by default all */
  readonly chunks: (isWanted?: (generation: StreamedGeneration) => boolean) => AsyncGenerator<Chunk>;
  /** Can be called again. */
  readonly close: () => Promise<void>;
}

export interface StreamHeader {
  /** Of the program that read the store. */
  readonly version: string;
  /** By the database's clock, ISO 8601 in UTC. */
  readonly takenAt: string;
  /** Names of the migrations that made the tables. */
  readonly migrations: readonly string[];
  /** The highest id that each counter gave. */
  readonly counters: Counters;
  readonly generations: readonly StreamedGeneration[];
}

/** A complete generation. The brand and the time tell apart two that have the same number. */
export interface StreamedGeneration {
  readonly id: number;
  readonly brand: string;
  readonly loadedAt: string;
}

/** A column of a table. Long integers, which JSON readers round, are texts; bytes are in base64. */
export interface Column {
  readonly name: string;
  readonly type: "integer" | "long" | "text" | "bytes";
}

/** Some rows of a table. All engines make the same text of the same rows. */
export interface Chunk {
  readonly table: string;
  readonly columns: readonly Column[];
  readonly rows: number;
  /** A JSON array for each row, each with a newline after it. */
  readonly text: string;
}

/** How columns are read from the store. */
export const expressionOf = ({ name, type }: Column) => (type === "long" ? `CAST(${name} AS TEXT) AS ${name}` : name);

export function encodeRow(columns: readonly Column[], row: Readonly<Record<string, unknown>>): string {
  const cells = columns.map(({ name, type }) => {
    const cell = row[name];
    if (cell === null) return null;
    if (type === "bytes") {
      const { buffer, byteOffset, length } = cell as Uint8Array;
      return Buffer.from(buffer, byteOffset, length).toString("base64");
    }
    // One engine cannot store it, and only lines that a process printed have it.
    return typeof cell === "string" && cell.includes("\0") ? cell.replaceAll("\0", "\u{fffd}") : cell;
  });
  return `${JSON.stringify(cells)}\n`;
}

export function decodeRows({ columns, text }: Chunk): Cell[][] {
  const rows = JSON.parse(`[${text.slice(0, -1).replaceAll("\n", ",")}]`) as Cell[][];
  const ofBytes = columns.flatMap(({ type }, index) => (type === "bytes" ? [index] : []));
  for (const row of ofBytes.length > 0 ? rows : []) {
    for (const index of ofBytes) {
      const cell = row[index];
      if (typeof cell === "string") row[index] = Buffer.from(cell, "base64");
    }
  }
  return rows;
}

/** How many rows of a table passed, and a digest of them all. */
export interface TableTotal {
  readonly rows: number;
  readonly digest: string;
}

export type Totals = Readonly<Record<string, TableTotal>>;

/** Counts the rows of a stream by table. */
export class RowCounter {
  readonly #tables = new Map<string, { rows: number; readonly hasher: Bun.CryptoHasher }>();

  add({ table, rows, text }: Chunk): void {
    let entry = this.#tables.get(table);
    if (entry === undefined) {
      entry = { rows: 0, hasher: new Bun.CryptoHasher("sha256") };
      this.#tables.set(table, entry);
    }
    entry.rows += rows;
    entry.hasher.update(text);
  }

  totals(): Totals {
    return Object.fromEntries(
      [...this.#tables].map(([table, { rows, hasher }]) => [table, { rows, digest: hasher.copy().digest("hex") }]),
    );
  }
}
