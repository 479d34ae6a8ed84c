import { ServiceError } from "../../base/errors.ts";
import type { Database, Transaction } from "../../database/database.ts";
import { checkFreeSpace, retryWhenDiskFull } from "../../database/disk.ts";
import type { NewRows } from "../../database/engines/engine.ts";
import { createGenerationTables, indexGenerationTables, tablesOf } from "../../database/generation-tables.ts";
import { requireUnderWay } from "../../jobs/claim.ts";
import { removeMarkedGenerations } from "../generation-removal.ts";
import { packNumbers } from "../packed-lines.ts";
import type { GroupFragment, StyleFragment } from "../store.ts";
import { type Fingerprints, generations, makeCurrent } from "../versions.ts";

/**
 * Also marks an unfinished generation of the brand as removed. Its run was killed, or fails from
 * now on: the run that was claimed last wins.
 * @throws ServiceError `unavailable` when the run's lease expired
 */
export async function beginGeneration(database: Database, brand: string, run: number): Promise<number> {
  return await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await transaction.lock({ brand });
    await requireUnderWay(transaction, run);
    await sql`UPDATE generation SET state = 'removed' WHERE brand = ${brand} AND state = 'loading'`;
    const [row] = await sql<{ id: number }[]>`
      INSERT INTO generation (brand, loaded_at, state) VALUES (${brand}, ${sql.unsafe(engine.now)}, 'loading')
      RETURNING id`;
    if (row === undefined) throw new Error("the database created no generation");
    await createGenerationTables(transaction, row.id);
    return row.id;
  });
}

export interface SkuRow {
  readonly sku: string;
  readonly lines: Uint8Array;
}

export interface StyleRow extends StyleFragment {
  /** How many SKUs offer it. */
  readonly skus: number;
  /** The first SKUs that offer it. */
  readonly examples: readonly string[];
}

export interface GroupRow extends GroupFragment {
  /** Numbers of the first styles that use it. */
  readonly styles: readonly number[];
}

/**
 * Adds new SKUs in order, all or none.
 * @throws ServiceError `unavailable` when another import of the brand began, or the disk is full
 */
export function loadSkus(database: Database, generation: number, rows: readonly SkuRow[]): Promise<void> {
  return load(database, generation, {
    table: tablesOf(generation).skus,
    columns: ["sku", "lines"],
    rows,
    append: (cells, { sku, lines }) => cells.push(sku, lines),
  });
}

export function loadStyles(database: Database, generation: number, rows: readonly StyleRow[]): Promise<void> {
  return load(database, generation, {
    table: tablesOf(generation).styles,
    columns: ["number", "code", "rows", "groups", "skus", "examples"],
    rows,
    append: (cells, { number, code, rows, groups, skus, examples }) =>
      cells.push(number, code, rows, packNumbers(groups), skus, JSON.stringify(examples)),
  });
}

export function loadGroups(database: Database, generation: number, rows: readonly GroupRow[]): Promise<void> {
  return load(database, generation, {
    table: tablesOf(generation).groups,
    columns: ["number", "name", "rows", "styles"],
    rows,
    append: (cells, { number, name, rows, styles }) => cells.push(number, name, rows, packNumbers(styles)),
  });
}

async function load<Row>(database: Database, generation: number, rows: NewRows<Row>): Promise<void> {
  if (rows.rows.length === 0) return;
  await checkFreeSpace(database);
  await database.inTransaction(async (transaction) => {
    await holdGeneration(transaction, generation, rows.rows.length);
    await transaction.engine.load(transaction.sql, rows);
  });
}

/** `choices` counts single choices. */
export interface GenerationSize {
  readonly rows: number;
  readonly skus: number;
  readonly styles: number;
  readonly choices: number;
}

/**
 * @param run the run that loaded it
 * @param feed the files it was loaded from, as JSON
 * @throws ServiceError as `requireUnderWay` does
 */
export async function finishGeneration(
  database: Database,
  run: number,
  brand: string,
  generation: number,
  { rows, skus, styles, choices }: GenerationSize,
  feed: string,
  compared: { readonly from: number | undefined; readonly fingerprints: Fingerprints },
): Promise<void> {
  await checkFreeSpace(database);
  await database.inTransaction(async (transaction) => {
    await holdGeneration(transaction, generation);
    await indexGenerationTables(transaction, generation);
  });
  await database.inTransaction(async (transaction) => {
    // So that no rollback comes between what makeCurrent reads and what it writes.
    await transaction.lock({ brand });
    await requireUnderWay(transaction, run);
    await holdGeneration(transaction, generation);
    await transaction.sql`
      UPDATE generation SET state = 'complete', feed = ${feed},
        row_count = ${rows}, skus = ${skus}, styles = ${styles}, choices = ${choices},
        previous = (SELECT generation FROM current_generation WHERE brand = ${brand})
      WHERE id = ${generation}`;
    await makeCurrent(transaction, generations, brand, generation, compared);
  });
}

export async function abandonGeneration(database: Database, brand: string, generation: number): Promise<void> {
  await retryWhenDiskFull(database, async () => {
    await database.sql`UPDATE generation SET state = 'removed' WHERE id = ${generation} AND state = 'loading'`;
    await removeMarkedGenerations(database, brand);
  });
}

/** Counts loaded rows, and keeps the generation from being removed until the transaction ends. */
async function holdGeneration({ sql }: Transaction, generation: number, rows = 0): Promise<void> {
  const held = await sql`
    UPDATE generation SET row_count = row_count + ${rows} WHERE id = ${generation} AND state = 'loading' RETURNING 1`;
  if (held.length > 0) return;
  throw new ServiceError("unavailable", "another import for the same brand began later and replaces this one");
}
