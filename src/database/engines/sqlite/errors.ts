import { type Database as File, SQLiteError } from "bun:sqlite";
import { SQL } from "bun";
import type { StoreFailure } from "../engine.ts";

const codeOf = (error: unknown) => `${(error as { code?: unknown }).code}`;

/** The file that was opened is no longer the one at its path. */
export class LostFileError extends Error {
  override readonly name = "LostFileError";
}

/** A check of the whole file found damage. */
export class DamagedFileError extends Error {
  override readonly name = "DamagedFileError";
}

/** Reads the whole file, and compares its indexes with its tables. @returns what is wrong first, if anything */
export function findDamage(file: File): string | undefined {
  const [first] = file.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").all();
  const found = `${first?.integrity_check}`.replace("*** in database main ***", "").trim();
  return found === "ok" ? undefined : found;
}

export function classify(error: unknown): StoreFailure | undefined {
  // The driver and the reader have an error class each.
  const isOwn = error instanceof SQL.SQLiteError || error instanceof SQLiteError || error instanceof LostFileError;
  if (error instanceof DamagedFileError) return "damaged";
  if (!isOwn) return undefined;
  const code = codeOf(error);
  if (code.startsWith("SQLITE_BUSY")) return "busy";
  // A quota or a file size limit appears as a failed write.
  if (/^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)$/.test(code)) return "full";
  if (code.startsWith("SQLITE_READONLY")) return "read-only";
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return "damaged";
  return error.message.includes("no such table") ? "missing" : "other";
}
