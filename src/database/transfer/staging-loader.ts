import type { Database } from "../database.ts";
import { progressTable as progress } from "../engines/transfer.ts";
import { createGenerationTables, dropGenerationTables, indexGenerationTables } from "../generation-tables.ts";
import {
  type Chunk,
  decodeRows,
  RowCounter,
  type StreamedGeneration,
  type StreamHeader,
  type Totals,
} from "./stream.ts";
import { generationTables, keptTables } from "./tables.ts";

/** Loads a stream into the staging area. */
export class StagingLoader {
  readonly #staging: Database;
  readonly #header: StreamHeader;
  readonly #counter = new RowCounter();
  /** The tables of the generations that an earlier attempt has loaded. */
  #loaded: Totals = {};
  readonly #loadedIds = new Set<number>();
  /** Generations that are not loaded yet, by table. */
  readonly #wanted = new Map<string, number>();
  #current: number | undefined;

  constructor(staging: Database, header: StreamHeader) {
    this.#staging = staging;
    this.#header = header;
  }

  /** Removes what an earlier attempt has loaded, except whole generations, which never change. */
  async begin(): Promise<void> {
    const { sql } = this.#staging;
    // totals: those of its tables, as JSON, once it is loaded.
    await sql.unsafe(`CREATE TABLE IF NOT EXISTS ${progress} (
      id INTEGER PRIMARY KEY, brand TEXT NOT NULL, loaded_at TEXT NOT NULL, totals TEXT
    )`);
    for (const { name } of keptTables.toReversed()) await this.#clear(name);
    type Row = StreamedGeneration & { totals: string | null };
    const rows = await sql.unsafe<Row[]>(`SELECT id, brand, loaded_at AS "loadedAt", totals FROM ${progress}`);
    for (const { totals, ...staged } of rows) {
      const isSame = this.#header.generations.some((generation) => Bun.deepEquals(generation, staged));
      if (totals === null || !isSame) await this.#remove(staged.id);
      else {
        this.#loaded = { ...this.#loaded, ...JSON.parse(totals) };
        this.#loadedIds.add(staged.id);
      }
    }
    for (const generation of this.#header.generations) if (this.isWanted(generation)) await this.#create(generation);
  }

  isWanted({ id }: StreamedGeneration): boolean {
    return !this.#loadedIds.has(id);
  }

  async load(chunk: Chunk): Promise<void> {
    const { table, columns } = chunk;
    const generation = this.#wanted.get(table);
    if (generation !== this.#current) await this.#finishCurrent();
    this.#current = generation;
    this.#counter.add(chunk);
    await this.#staging.inTransaction(({ sql, engine }) =>
      engine.load(sql, {
        table,
        columns: columns.map(({ name }) => name),
        rows: decodeRows(chunk),
        append: (cells, row) => cells.push(...row),
      }),
    );
  }

  /** @returns the totals of everything in the staging area */
  async finish(): Promise<Totals> {
    await this.#finishCurrent();
    // A generation without rows has had no chunk.
    for (const id of new Set(this.#wanted.values())) if (!this.#loadedIds.has(id)) await this.#finishGeneration(id);
    return { ...this.#loaded, ...this.#counter.totals() };
  }

  /** A migration that the stream's store has not had adds the table later. */
  async #clear(table: string): Promise<void> {
    const { sql, engine } = this.#staging;
    const columns = await sql.unsafe(engine.transfer.columnsQuery(table));
    if (columns.length > 0) await sql.unsafe(`DELETE FROM ${table}`);
  }

  #remove(id: number): Promise<void> {
    return this.#staging.inTransaction(async (transaction) => {
      await dropGenerationTables(transaction, id);
      await transaction.sql.unsafe(`DELETE FROM ${progress} WHERE id = ${id}`);
    });
  }

  #create({ id, brand, loadedAt }: StreamedGeneration): Promise<void> {
    for (const { name } of generationTables(id)) this.#wanted.set(name, id);
    return this.#staging.inTransaction(async (transaction) => {
      const { sql } = transaction;
      await sql`INSERT INTO ${sql(progress)} (id, brand, loaded_at) VALUES (${id}, ${brand}, ${loadedAt})`;
      await createGenerationTables(transaction, id);
    });
  }

  async #finishCurrent(): Promise<void> {
    if (this.#current !== undefined) await this.#finishGeneration(this.#current);
  }

  async #finishGeneration(id: number): Promise<void> {
    const all = this.#counter.totals();
    const own = Object.fromEntries(Object.entries(all).filter(([table]) => this.#wanted.get(table) === id));
    await this.#staging.inTransaction(async (transaction) => {
      const { sql } = transaction;
      await indexGenerationTables(transaction, id);
      await sql`UPDATE ${sql(progress)} SET totals = ${JSON.stringify(own)} WHERE id = ${id}`;
    });
    this.#loadedIds.add(id);
    this.#current = undefined;
  }
}
