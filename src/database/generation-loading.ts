import { ServiceError } from "../errors.ts";
import type { ListName } from "../model/personalization.ts";
import type { Database, Transaction } from "./database.ts";
import { checkFreeSpace, retryWhenDiskFull } from "./disk.ts";
import { type Cell, insertRows } from "./engines/insert-rows.ts";
import { type GenerationChange, makeCurrent } from "./generation-current.ts";
import { removeMarkedGenerations } from "./generation-removal.ts";
import { tables } from "./generation-tables.ts";
import { requireUnderWay } from "./run.ts";

/** A row's values in the contract's order of columns, and its position in the feed. */
export interface PlacedRow {
  readonly values: readonly string[];
  readonly position: number;
}

/** Rows of a list. Keys of `fresh` are new; keys of `repeated` may exist, and the last row wins. */
export interface LoadedRows {
  readonly fresh: readonly PlacedRow[];
  readonly repeated: readonly PlacedRow[];
}

/**
 * Begins a generation beside the current one, and removes an unfinished one of the brand. The run
 * that loads that one was killed, or fails from here on: the run that was claimed last wins.
 * @throws ServiceError `unavailable` when the run's lease expired
 */
export async function beginGeneration(database: Database, brand: string, run: number): Promise<number> {
  const created = await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await engine.lock(sql, "generations");
    await requireUnderWay(transaction, run);
    await sql`UPDATE generation SET state = 'removed' WHERE brand = ${brand} AND state = 'loading'`;
    const [row] = await sql<{ id: number }[]>`
      INSERT INTO generation (brand, loaded_at, state) VALUES (${brand}, ${sql.unsafe(engine.now)}, 'loading')
      RETURNING id`;
    return row;
  });
  if (created === undefined) throw new Error("the database created no generation");
  return created.id;
}

/**
 * Adds rows to a generation that is being loaded, all or none.
 * @throws ServiceError `unavailable` when another import of the brand began, or the disk is full
 */
export async function loadRows(
  database: Database,
  generation: number,
  list: ListName,
  rows: LoadedRows,
): Promise<void> {
  await checkFreeSpace(database);
  const { table, columns, key } = tables[list];
  const names = ["generation", ...columns, "position"];
  const append = (cells: Cell[], { values, position }: PlacedRow) => {
    cells.push(generation);
    for (const value of values) cells.push(value);
    cells.push(position);
  };
  const keyPlaces = key.map((column) => (columns as readonly string[]).indexOf(column));
  const updates = columns.filter((name) => !(key as readonly string[]).includes(name));
  const update = [...updates, "position"].map((name) => `${name} = excluded.${name}`).join(", ");
  const conflict = `ON CONFLICT (generation, ${key.join(", ")}) DO UPDATE SET ${update}`;
  await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await holdGeneration(transaction, generation, rows.fresh.length + rows.repeated.length);
    await engine.load(sql, { table, columns: names, rows: rows.fresh, append });
    const repeated = lastOfEachKey(rows.repeated, keyPlaces);
    await insertRows(sql, engine.placeholder, { table, columns: names, rows: repeated, append }, conflict);
  });
}

/**
 * Adds a part of the digest that later generations are compared with.
 * @throws ServiceError `unavailable` when another import of the brand began
 */
export function saveDigest(
  database: Database,
  generation: number,
  list: ListName,
  part: number,
  data: Uint8Array,
): Promise<void> {
  return database.inTransaction(async (transaction) => {
    await holdGeneration(transaction, generation);
    await transaction.sql`
      INSERT INTO generation_digest (generation, list, part, data) VALUES (${generation}, ${list}, ${part}, ${data})`;
  });
}

/** How many SKUs offer a style, and the first of them in the feed. */
export interface StyleUsers {
  readonly style: string;
  readonly count: number;
  readonly examples: readonly string[];
}

/**
 * Adds how many SKUs offer each of some styles. The import counts them, because an index on the
 * lines would make it several times slower.
 * @throws ServiceError `unavailable` when another import of the brand began
 */
export function saveStyleUsers(database: Database, generation: number, users: readonly StyleUsers[]): Promise<void> {
  return database.inTransaction(async (transaction) => {
    await holdGeneration(transaction, generation);
    await transaction.engine.load(transaction.sql, {
      table: "generation_style",
      columns: ["generation", "style_code", "skus", "examples"],
      rows: users,
      append: (cells, { style, count, examples }) => cells.push(generation, style, count, JSON.stringify(examples)),
    });
  });
}

/**
 * Makes a loaded generation the brand's current one, in one transaction.
 * @param feed the files it was loaded from, as JSON
 */
export async function finishGeneration(
  database: Database,
  brand: string,
  generation: number,
  feed: string,
  change: GenerationChange,
): Promise<void> {
  // Before any read, because the planner knows nothing of the new rows yet.
  for (const { table } of Object.values(tables)) await database.sql.unsafe(`ANALYZE ${table}`);
  await database.inTransaction(async (transaction) => {
    await holdGeneration(transaction, generation);
    await transaction.sql`
      UPDATE generation SET state = 'complete', feed = ${feed},
        previous = (SELECT generation FROM current_generation WHERE brand = ${brand})
      WHERE id = ${generation}`;
    await makeCurrent(transaction, brand, generation, change);
  });
}

/** Gives up a generation that is being loaded. */
export async function abandonGeneration(database: Database, brand: string, generation: number): Promise<void> {
  await retryWhenDiskFull(database, async () => {
    await database.sql`UPDATE generation SET state = 'removed' WHERE id = ${generation} AND state = 'loading'`;
    await removeMarkedGenerations(database, brand);
  });
}

/** Counts rows, and keeps the generation from being removed until the transaction ends. */
async function holdGeneration({ sql }: Transaction, generation: number, rows = 0): Promise<void> {
  const held = await sql`
    UPDATE generation SET row_count = row_count + ${rows} WHERE id = ${generation} AND state = 'loading' RETURNING 1`;
  if (held.length > 0) return;
  throw new ServiceError("unavailable", "another import for the same brand began later and replaces this one");
}

/** One statement may write a key only once. */
function lastOfEachKey(rows: readonly PlacedRow[], keyPlaces: readonly number[]): PlacedRow[] {
  const byKey = rows.map((row) => [JSON.stringify(keyPlaces.map((place) => row.values[place])), row] as const);
  return [...new Map(byKey).values()];
}
