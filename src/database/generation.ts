import type { SQL } from "bun";
import { ServiceError } from "../errors.ts";
import { type ListName, lists } from "../model/personalization.ts";
import { recordPersonalizationChange } from "./change.ts";
import type { Database } from "./database.ts";
import { checkRoom, inFullStore, writing } from "./database.ts";
import { type Cell, insertRows } from "./rows.ts";

/** The tables of a generation's rows, by the list that each holds. */
const tables = {
  pzlines: { table: "personalization_line", ...lists.pzlines },
  pzstyles: { table: "personalization_style", ...lists.pzstyles },
  pzchoices: { table: "personalization_choice", ...lists.pzchoices },
} as const;

/** A row's values in the contract's order of columns, and its place in the feed. */
export interface PlacedRow {
  readonly values: readonly string[];
  readonly position: number;
}

/** Rows of a list: of keys that are new to the generation, and of keys that may be there already, whose last row wins. */
export interface LoadedRows {
  readonly fresh: readonly PlacedRow[];
  readonly repeated: readonly PlacedRow[];
}

/** Rows that one transaction deletes: short enough for whoever else wants to write. */
const rowsPerDeletion = 20_000;

/**
 * Begins a generation beside the current one. One that was never finished is removed: its run was killed, or it still goes on
 * and ends with an error, since the run that began last is the one that counts.
 */
export async function beginGeneration(database: Database, brand: string): Promise<number> {
  const { dialect } = database;
  const created = await writing(database, async (transaction) => {
    await transaction.unsafe(dialect.lockGenerations);
    await transaction`UPDATE generation SET state = 'removed' WHERE brand = ${brand} AND state = 'loading'`;
    const [row] = await transaction<{ id: number }[]>`
      INSERT INTO generation (brand, loaded_at, state)
      VALUES (${brand}, ${transaction.unsafe(dialect.now)}, 'loading') RETURNING id`;
    return row;
  });
  if (created === undefined) throw new Error("the database made no generation");
  return created.id;
}

/**
 * Removes what unfinished imports left behind, of every brand.
 * @param job the job that imports: a brand's generation is left alone while that has a run under way
 */
export async function removeUnfinishedGenerations(database: Database, job: string, brand: string): Promise<void> {
  const { dialect, sql } = database;
  const unfinished = await sql`SELECT 1 FROM generation WHERE state <> 'complete' LIMIT 1`;
  if (unfinished.length === 0) return;
  await writing(database, async (transaction) => {
    await transaction.unsafe(dialect.lockGenerations);
    // The brand's own run is the one that asks, and has begun none yet.
    await transaction`
      UPDATE generation SET state = 'removed' WHERE state = 'loading' AND (brand = ${brand} OR NOT EXISTS (
        SELECT 1 FROM run WHERE run.job = ${job} AND run.brand = generation.brand AND run.finished_at IS NULL
          AND run.lease_until >= ${transaction.unsafe(dialect.now)}))`;
  });
  await sweepGenerations(database);
  await tidyTables(database);
}

/**
 * Adds rows to a generation that is being loaded, all or none.
 * @throws ServiceError `unavailable` when another import of the brand has begun since, or the disk is full.
 */
export async function loadRows(
  database: Database,
  generation: number,
  list: ListName,
  rows: LoadedRows,
): Promise<void> {
  await checkRoom(database);
  const { table, columns, key } = tables[list];
  const keyPlaces = key.map((column) => columns.indexOf(column));
  const names = ["generation", ...columns, "position"];
  const append = (cells: Cell[], { values, position }: PlacedRow) => {
    cells.push(generation);
    for (const value of values) cells.push(value);
    cells.push(position);
  };
  const { dialect } = database;
  await writing(database, async (transaction) => {
    const count = rows.fresh.length + rows.repeated.length;
    await holdGeneration(transaction, generation, count);
    await dialect.load(transaction, { table, columns: names, rows: rows.fresh, append });
    const updates = columns.filter((name) => !(key as readonly string[]).includes(name));
    const update = [...updates, "position"].map((name) => `${name} = excluded.${name}`).join(", ");
    const conflict = `ON CONFLICT (generation, ${key.join(", ")}) DO UPDATE SET ${update}`;
    const repeated = lastOfEachKey(rows.repeated, keyPlaces);
    await insertRows(transaction, dialect.placeholder, { table, columns: names, rows: repeated, append }, conflict);
  });
}

/**
 * Adds a part of what the generation is compared by later.
 * @throws ServiceError `unavailable` when another import of the brand has begun since.
 */
export function saveDigest(
  database: Database,
  generation: number,
  list: ListName,
  part: number,
  data: Uint8Array,
): Promise<void> {
  return writing(database, async (transaction) => {
    await holdGeneration(transaction, generation, 0);
    await transaction`
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
 * Adds how many SKUs offer each of some styles: counted while they are read, which an index on the lines would make take several times as long.
 * @throws ServiceError `unavailable` when another import of the brand has begun since.
 */
export function saveStyleUsers(database: Database, generation: number, users: readonly StyleUsers[]): Promise<void> {
  return writing(database, async (transaction) => {
    await holdGeneration(transaction, generation, 0);
    await database.dialect.load(transaction, {
      table: "generation_style",
      columns: ["generation", "style_code", "skus", "examples"],
      rows: users,
      append: (cells, { style, count, examples }) => cells.push(generation, style, count, JSON.stringify(examples)),
    });
  });
}

/** @returns the parts that were saved for a list, in their order; none for a generation without */
export async function* readDigest({ sql }: Database, generation: number, list: ListName): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await sql<{ data: Uint8Array }[]>`
      SELECT data FROM generation_digest WHERE generation = ${generation} AND list = ${list} AND part = ${part}`;
    if (row === undefined) return;
    yield row.data;
  }
}

/** The names of styles or of choice groups that two generations do not have alike, `most` of them and one more at most. */
export async function listDifferingNames(
  { sql }: Database,
  list: "pzstyles" | "pzchoices",
  from: number,
  to: number,
  most: number,
): Promise<string[]> {
  const { table, columns, key } = tables[list];
  const [name] = key;
  const rowsOf = (generation: number) => `SELECT ${columns.join(", ")} FROM ${table} WHERE generation = ${generation}`;
  const only = (one: number, other: number) => `SELECT ${name} FROM (${rowsOf(one)} EXCEPT ${rowsOf(other)}) AS rows`;
  const rows = await sql.unsafe<Record<string, string>[]>(
    `${only(from, to)} UNION ${only(to, from)} LIMIT ${most + 1}`,
  );
  return rows.map((row) => row[name] ?? "");
}

/** What its becoming current changes in the answers. */
export interface GenerationChange {
  /** The generation that was current; undefined when there was none. */
  readonly from: number | undefined;
  /** Fingerprints of the SKUs, styles and choice groups that differ from it; undefined when that is not known. */
  readonly fingerprints: readonly number[] | undefined;
}

/**
 * Makes a loaded generation the brand's current one, in one update.
 * @param feed what it was loaded from, as JSON
 */
export async function finishGeneration(
  database: Database,
  brand: string,
  generation: number,
  feed: string,
  change: GenerationChange,
): Promise<void> {
  const { sql } = database;
  // Before anyone reads it: the planner would else know nothing of so many new rows.
  for (const { table } of Object.values(tables)) await sql.unsafe(`ANALYZE ${table}`);
  await writing(database, async (transaction) => {
    await holdGeneration(transaction, generation, 0);
    await transaction`
      UPDATE generation SET state = 'complete', feed = ${feed},
        previous = (SELECT generation FROM current_generation WHERE brand = ${brand})
      WHERE id = ${generation}`;
    await makeCurrent(transaction, database, brand, generation, change);
  });
}

/** Gives up a generation that is being loaded. */
export async function abandonGeneration(database: Database, brand: string, generation: number): Promise<void> {
  await inFullStore(database, async () => {
    await database.sql`UPDATE generation SET state = 'removed' WHERE id = ${generation} AND state = 'loading'`;
    await sweepGenerations(database, brand);
  });
  await tidyTables(database);
}

/** Keeps the brand's current generation and those that were current before it, and removes the others. */
export async function removeOldGenerations(database: Database, brand: string, kept: number): Promise<void> {
  await writing(database, async (transaction) => {
    // So that nobody rolls back to one of them meanwhile.
    await transaction.unsafe(database.dialect.lockGenerations);
    await transaction`
      WITH RECURSIVE kept (id, place) AS (
        SELECT generation, 1 FROM current_generation WHERE brand = ${brand}
        UNION ALL
        SELECT previous, place + 1 FROM kept JOIN generation ON generation.id = kept.id
        WHERE previous IS NOT NULL AND place < ${kept}
      )
      UPDATE generation SET state = 'removed'
      WHERE brand = ${brand} AND state = 'complete' AND id NOT IN (SELECT id FROM kept)`;
  });
  await sweepGenerations(database, brand);
  await tidyTables(database);
}

export interface LastGeneration {
  readonly id: number;
  /** What it was loaded from, as JSON; null when it was loaded before that was kept. */
  readonly feed: string | null;
  /** The brand's current one, which is an older one after a rollback. */
  readonly current: number;
  /** What that was loaded from. */
  readonly currentFeed: string | null;
}

/** Each brand's current generation. */
export async function listCurrentGenerations({
  sql,
}: Database): Promise<{ readonly brand: string; readonly generation: number }[]> {
  return await sql`SELECT brand, generation FROM current_generation ORDER BY brand`;
}

/** A complete generation, and what it holds. */
export interface Generation {
  readonly id: number;
  readonly brand: string;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
  /** When it became the current one; null when it is not, or nobody knows. */
  readonly since: string | null;
  /** Rows of the three files; 0 where that was not counted. */
  readonly rows: number;
  /** Null where it was loaded before that was kept. */
  readonly skus: number | null;
  readonly styles: number | null;
  readonly choices: number | null;
}

/** Every brand's complete generations, the newest first. */
export async function listGenerations({ read }: Database): Promise<Generation[]> {
  // A digest has twelve bytes for each SKU, style or choice.
  const sizeOf = (list: ListName) =>
    `(SELECT CAST(sum(length(data)) / 12 AS INTEGER) FROM generation_digest WHERE generation = generation.id AND list = '${list}')`;
  const rows = await read<Omit<Generation, "isCurrent"> & { readonly current: number | null }>(
    `SELECT generation.id, generation.brand, loaded_at AS "loadedAt", current_generation.generation AS current, since, row_count AS rows,
      ${sizeOf("pzlines")} AS skus, ${sizeOf("pzstyles")} AS styles, ${sizeOf("pzchoices")} AS choices
    FROM generation LEFT JOIN current_generation ON current_generation.generation = generation.id
    WHERE state = 'complete' ORDER BY generation.brand, generation.id DESC`,
    [],
  );
  return rows.map(({ current, ...generation }) => ({ ...generation, isCurrent: current !== null }));
}

/** SKUs in their order, behind one of them: what a walk over all of them asks again and again. */
export async function listSkusAfter(
  { read }: Database,
  generation: number,
  after: string,
  most: number,
): Promise<string[]> {
  const rows = await read<{ sku: string }>(
    `SELECT DISTINCT sku_id AS sku FROM personalization_line WHERE generation = $1 AND sku_id > $2 ORDER BY sku_id LIMIT ${most}`,
    [generation, after],
  );
  return rows.map(({ sku }) => sku);
}

/** Of some names of styles or choice groups those that a generation has. */
export async function listPresentNames(
  { sql }: Database,
  list: "pzstyles" | "pzchoices",
  generation: number,
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const { table, key } = tables[list];
  const name = sql.unsafe(key[0]);
  const rows = await sql<{ name: string }[]>`
    SELECT DISTINCT ${name} AS name FROM ${sql.unsafe(table)} WHERE generation = ${generation} AND ${name} IN ${sql(names)}`;
  return new Set(rows.map((row) => row.name));
}

/** The brand's generation that was loaded last. */
export async function findLastGeneration({ sql }: Database, brand: string): Promise<LastGeneration | undefined> {
  const [last] = await sql<LastGeneration[]>`
    SELECT last.id, last.feed, now.id AS current, now.feed AS ${sql("currentFeed")}
    FROM generation last
    JOIN current_generation ON current_generation.brand = last.brand
    JOIN generation now ON now.id = current_generation.generation
    WHERE last.brand = ${brand} AND last.state = 'complete' ORDER BY last.id DESC LIMIT 1`;
  return last;
}

/** The brand's current generation, and the one that was current before it and can be so again. */
export async function findPreviousGeneration(
  { sql }: { readonly sql: SQL },
  brand: string,
): Promise<{ readonly current: number; readonly previous: number } | undefined> {
  const [found] = await sql<{ current: number; previous: number }[]>`
    SELECT now.id AS current, before.id AS previous FROM current_generation
    JOIN generation now ON now.id = current_generation.generation
    JOIN generation before ON before.id = now.previous AND before.state = 'complete'
    WHERE current_generation.brand = ${brand}`;
  return found;
}

/**
 * Makes the generation current again that was so before the brand's current one.
 * @returns whether there was one
 */
export function rollbackGeneration(database: Database, brand: string, change: GenerationChange): Promise<boolean> {
  return writing(database, async (transaction) => {
    await transaction.unsafe(database.dialect.lockGenerations);
    const found = await findPreviousGeneration({ sql: transaction }, brand);
    if (found === undefined) return false;
    await makeCurrent(transaction, database, brand, found.previous, change);
    return true;
  });
}

/** Makes sure that nobody takes the generation away before the transaction ends. */
async function holdGeneration(sql: SQL, generation: number, rows: number): Promise<void> {
  const held = await sql`
    UPDATE generation SET row_count = row_count + ${rows} WHERE id = ${generation} AND state = 'loading' RETURNING 1`;
  if (held.length === 0) {
    throw new ServiceError(
      "unavailable",
      "another import for the same brand has begun since, and takes the place of this one",
    );
  }
}

/** A statement may touch a key only once. */
function lastOfEachKey(rows: readonly PlacedRow[], keyPlaces: readonly number[]): PlacedRow[] {
  const byKey = rows.map((row) => [JSON.stringify(keyPlaces.map((place) => row.values[place])), row] as const);
  return [...new Map(byKey).values()];
}

async function makeCurrent(
  sql: SQL,
  database: Database,
  brand: string,
  generation: number,
  { from, fingerprints }: GenerationChange,
): Promise<void> {
  const [now] = await sql<{ id: number }[]>`SELECT generation AS id FROM current_generation WHERE brand = ${brand}`;
  await sql`
    INSERT INTO current_generation (brand, generation, since)
    VALUES (${brand}, ${generation}, ${sql.unsafe(database.dialect.now)})
    ON CONFLICT (brand) DO UPDATE SET generation = excluded.generation, since = excluded.since`;
  // Another one may have become current since they were compared.
  await recordPersonalizationChange(sql, database, now?.id === from ? fingerprints : undefined);
}

async function tidyTables({ sql, dialect }: Database): Promise<void> {
  for (const { table } of Object.values(tables)) await sql.unsafe(dialect.tidy(table));
}

/**
 * Deletes what was removed, the rows first: cut short, the next sweep goes on.
 * @param brand undefined for all of them
 */
async function sweepGenerations(database: Database, brand?: string): Promise<void> {
  const { sql } = database;
  const ofBrand = brand === undefined ? sql`` : sql`AND brand = ${brand}`;
  const removed = await sql<{ id: number }[]>`SELECT id FROM generation WHERE state = 'removed' ${ofBrand}`;
  for (const { id } of removed) {
    for (const { table, key } of Object.values(tables)) await deleteRows(sql, table, key[0], id);
    await sql`DELETE FROM generation_digest WHERE generation = ${id}`;
    await deleteRows(sql, "generation_style", "style_code", id);
    await sql`DELETE FROM generation WHERE id = ${id}`;
  }
}

/** @param first the column that the rows of a generation are ordered by */
async function deleteRows(sql: SQL, table: string, first: string, generation: number): Promise<void> {
  // From one bound to the next, never from the beginning: what was deleted may still lie there.
  for (let from = ""; ; ) {
    const rest = `FROM ${table} WHERE generation = $1 AND ${first} >= $2`;
    const [bound] = await sql.unsafe(
      `SELECT ${first} AS value ${rest} ORDER BY ${first} LIMIT 1 OFFSET ${rowsPerDeletion}`,
      [generation, from],
    );
    if (bound === undefined) {
      await sql.unsafe(`DELETE ${rest}`, [generation, from]);
      return;
    }
    // So many rows of one value that they take a step of their own.
    const until = bound.value === from ? "<=" : "<";
    await sql.unsafe(`DELETE ${rest} AND ${first} ${until} $3`, [generation, from, bound.value]);
    from = bound.value;
  }
}
