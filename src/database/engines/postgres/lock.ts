import type { SQL } from "bun";
import type { LockName } from "../engine.ts";
import { changesLock } from "./schema.ts";

/** Arbitrary keys that nothing else in the database uses. */
const schemaLock = 7365747301;
/** The first key of the locks of brands; the second is a hash, which two brands may share. */
const brandLocks = 736574730;

/** Makes other transactions that want the same lock wait until this one ends. */
export async function lock(transaction: SQL, name: LockName): Promise<void> {
  if (typeof name === "object") {
    await transaction`SELECT CAST(pg_advisory_xact_lock(${brandLocks}, hashtext(${name.brand})) AS TEXT)`;
    return;
  }
  // Another process may take long to create the tables, and this one after it.
  if (name === "schema") await transaction.unsafe("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0");
  await transaction.unsafe(`SELECT pg_advisory_xact_lock(${name === "schema" ? schemaLock : changesLock})`);
}
