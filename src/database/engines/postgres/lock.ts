import type { SQL } from "bun";
import type { LockName } from "../engine.ts";
import { changesLock } from "./schema.ts";

/** An arbitrary key that nothing else in the database uses. */
const schemaLock = 7365747301;
/** The first key of the locks of brands; the second is a hash, which two brands may share. */
const brandLocks = 736574730;

export async function lock(transaction: SQL, name: LockName): Promise<void> {
  if (typeof name === "object") {
    await transaction`SELECT CAST(pg_advisory_xact_lock(${brandLocks}, hashtext(${name.brand})) AS TEXT)`;
    return;
  }
  // Creating the tables may take long, here or in another process.
  if (name === "schema") await transaction.unsafe("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0");
  await transaction.unsafe(`SELECT pg_advisory_xact_lock(${name === "schema" ? schemaLock : changesLock})`);
}
