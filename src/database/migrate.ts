import type { Database, Queryable } from "./database.ts";

/**
 * Brings the schema up to date. Any number of replicas may do so at once.
 * @throws Error when a newer version, or one before the first release, made the store
 */
export async function migrate(database: Database): Promise<void> {
  const { engine } = database;
  const applied = await listApplied(database);
  if (applied === undefined) await refusePreRelease(database);
  if (applied?.length === engine.migrations.length && findUnknown(database, applied) === undefined) return;
  await database.inTransaction(async (transaction) => {
    await engine.withoutTimeouts(transaction.sql);
    await engine.lock(transaction.sql, "migrations");
    await transaction.sql`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY)`;
    const done = (await listApplied(transaction)) ?? [];
    const unknown = findUnknown(transaction, done);
    if (unknown !== undefined) {
      throw new Error(`it has the migration ${unknown}, which this version does not know; use a newer version`);
    }
    for (const { name, statements } of engine.migrations) {
      if (done.includes(name)) continue;
      for (const statement of statements) await transaction.sql.unsafe(statement);
      await transaction.sql`INSERT INTO schema_migration (name) VALUES (${name})`;
    }
  });
}

/** @returns undefined for a store without the table */
async function listApplied({ sql, engine }: Queryable): Promise<string[] | undefined> {
  try {
    const rows = await sql<{ name: string }[]>`SELECT name FROM schema_migration`;
    return rows.map(({ name }) => name);
  } catch (error) {
    if (engine.isTableMissing(error)) return undefined;
    throw error;
  }
}

const findUnknown = ({ engine }: Queryable, applied: readonly string[]) =>
  applied.find((name) => !engine.migrations.some((migration) => migration.name === name));

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
