import packageJson from "../../package.json" with { type: "json" };
import type { Database, Queryable } from "./database.ts";

/** The store needs a newer version of the program. */
export class NewerStoreError extends Error {}

/** Whether the store has no tables yet, those of an older version, or at least those of this one. */
export type SchemaState = "absent" | "older" | "current";

/**
 * Reads how far the schema is. A newer version may have added to it.
 * @throws NewerStoreError when a newer version made the store unusable for this one
 * @throws Error when a version before the first release made the store, or when a role can neither see nor create it
 */
export async function readSchemaState(database: Database): Promise<SchemaState> {
  const applied = await listApplied(database);
  if (applied === undefined) {
    await refuseMissingRight(database);
    await refusePreRelease(database);
  }
  await refuseNewer(database);
  if (applied === undefined) return "absent";
  return database.engine.migrations.every(({ name }) => applied.includes(name)) ? "current" : "older";
}

/**
 * Brings the schema up to date. Any number of replicas may do so at once.
 * @param names of the migrations to apply; all by default
 * @throws as {@link readSchemaState} does
 */
export async function migrate(database: Database, names?: readonly string[]): Promise<void> {
  if ((await readSchemaState(database)) === "current") return;
  const { engine } = database;
  const migrations = engine.migrations.filter(({ name }) => names?.includes(name) ?? true);
  await database.inTransaction(async (transaction) => {
    await engine.withoutTimeouts(transaction.sql);
    await engine.lock(transaction.sql, "migrations");
    await transaction.sql`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY)`;
    const done = (await listApplied(transaction)) ?? [];
    for (const { name, statements } of migrations) {
      if (done.includes(name)) continue;
      for (const statement of statements) await transaction.sql.unsafe(statement);
      await transaction.sql`INSERT INTO schema_migration (name) VALUES (${name})`;
    }
  });
}

async function refuseNewer(database: Database): Promise<void> {
  const problem = await findNewerVersion(database);
  if (problem !== undefined) throw new NewerStoreError(problem);
}

/** Why this program is too old for the store, which may be upgraded at any time; undefined if it isn't. */
export async function findNewerVersion({ sql, engine }: Queryable): Promise<string | undefined> {
  const needs = await sql<{ migration: string; version: string }[]>`
    SELECT migration, version FROM schema_minimum ORDER BY migration DESC`.catch((error: unknown) => {
    if (engine.isTableMissing(error)) return [];
    throw error;
  });
  const unknown = needs.find((need) => !engine.migrations.some(({ name }) => name === need.migration));
  if (unknown === undefined) return undefined;
  const { migration, version } = unknown;
  return `it needs version ${version} or newer because of the migration ${migration}; this is version ${packageJson.version}`;
}

/** The names of the migrations that the store has had; undefined without the table. */
export async function listApplied({ sql, engine }: Queryable): Promise<string[] | undefined> {
  try {
    const rows = await sql<{ name: string }[]>`SELECT name FROM schema_migration`;
    return rows.map(({ name }) => name);
  } catch (error) {
    if (engine.isTableMissing(error)) return undefined;
    throw error;
  }
}

/** Without the right to use their schema, tables that exist are missing. */
async function refuseMissingRight({ sql, engine }: Queryable): Promise<void> {
  const missing = await engine.findMissingRight(sql);
  if (missing !== undefined) throw new Error(missing);
}

/** Versions before the first release counted their migrations in a table of another name. */
async function refusePreRelease({ sql, engine }: Queryable): Promise<void> {
  try {
    await sql`SELECT id FROM migration LIMIT 1`;
  } catch (error) {
    if (engine.isTableMissing(error)) return;
    throw error;
  }
  throw new Error(
    "a version before the first release made it, and it cannot be upgraded; set DATABASE_URL to a new database, then " +
      'import the data again with "pds import products" and "pds import personalization", or run the configured jobs',
  );
}
