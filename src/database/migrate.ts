import { sha256 } from "../base/hash.ts";
import type { Database } from "./database.ts";
import type { Engine, Read } from "./engines/engine.ts";
import { engines } from "./engines/index.ts";
import { generationStatements } from "./generation-tables.ts";

// Dated migrations begin with version 1.0.0. Until then, a store is used only by programs with its own schema.

/** Version of the contents of columns. Raise it when a program would misread older ones. */
const contents = 1;

/** Identifies the tables of all engines, and what is in them. */
const fingerprint = sha256(
  JSON.stringify([contents, ...engines.map((engine) => [engine.schema, generationStatements(engine, 0)])]),
);

const namesOf = ({ schema }: Engine): string[] =>
  ["CREATE TABLE schema_fingerprint", ...schema].flatMap(
    (statement) => statement.match(/^\s*CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX|TRIGGER|FUNCTION) (\w+)/)?.[1] ?? [],
  );

/** Tables that are created later: those of generations, and of the index of words. */
const laterNames = /^(?:generation_\d+|product_word)_/;

/** Another version, or another program, made tables of these names. */
export class OtherSchemaError extends Error {
  constructor() {
    super(
      "another version of the program, or another program, made its tables: start that version, or set DATABASE_URL " +
        'to a new database and import the data again with "pds import products" and "pds import personalization", or run the configured jobs',
    );
  }
}

/** Whether the store has this program's tables. */
export type SchemaState = "absent" | "current";

/**
 * @throws OtherSchemaError when the store has other tables
 * @throws Error when a role can neither see nor create them
 */
export async function readSchemaState(database: Database): Promise<SchemaState> {
  const { sql, engine } = database;
  const state = await readTables(engine, (statement) => sql.unsafe(statement));
  if (state === "current") return state;
  const missing = await engine.server?.findMissingRight(sql);
  if (missing !== undefined) throw new Error(missing);
  return "absent";
}

/** @throws OtherSchemaError when the store has other tables */
export async function readTables(engine: Engine, read: Read): Promise<SchemaState> {
  const names = new Set((await read<{ name: string }>(engine.names, [])).map(({ name }) => name.toLowerCase()));
  if (names.has("schema_fingerprint")) {
    // Another program's table of this name has other columns.
    const [row] = await read<{ fingerprint?: string }>("SELECT * FROM schema_fingerprint LIMIT 1", []);
    requireOwn(row?.fingerprint);
    return "current";
  }
  // Earlier states had no fingerprint, and other programs have none.
  const isTaken = namesOf(engine).some((name) => names.has(name)) || [...names].some((name) => laterNames.test(name));
  if (isTaken) throw new OtherSchemaError();
  return "absent";
}

/**
 * Creates the tables of an empty store. Any number of replicas may do so at once.
 * @throws as {@link readSchemaState} does
 */
export async function createTables(database: Database): Promise<void> {
  const state = await readSchemaState(database);
  // Only now, so that a store that is refused stays unchanged.
  await database.engine.file?.prepare(database.sql);
  if (state === "current") return;
  await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await transaction.lock("schema");
    await sql`CREATE TABLE IF NOT EXISTS schema_fingerprint (fingerprint TEXT PRIMARY KEY)`;
    const [other] = await sql<{ fingerprint: string }[]>`SELECT fingerprint FROM schema_fingerprint`;
    // Another process has created them meanwhile, perhaps one of another version.
    if (other !== undefined) return requireOwn(other.fingerprint);
    for (const statement of engine.schema) await sql.unsafe(statement);
    await sql`INSERT INTO schema_fingerprint (fingerprint) VALUES (${fingerprint})`;
  });
}

function requireOwn(found: string | undefined): void {
  if (found !== fingerprint) throw new OtherSchemaError();
}
