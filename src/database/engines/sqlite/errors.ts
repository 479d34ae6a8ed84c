import { SQLiteError } from "bun:sqlite";
import { SQL } from "bun";

const codeOf = (error: unknown) => `${(error as { code?: unknown }).code}`;

/** The file that was opened is no longer the one at its path. */
export class LostFileError extends Error {
  override readonly name = "LostFileError";
}

/** The driver and the reader have an error class each. */
export const isStoreError = (error: unknown) =>
  error instanceof SQL.SQLiteError || error instanceof SQLiteError || error instanceof LostFileError;

export const isBusy = (error: unknown) => codeOf(error).startsWith("SQLITE_BUSY");

export const isReadOnly = (error: unknown) => codeOf(error).startsWith("SQLITE_READONLY");

/** A quota or a file size limit appears as a failed write. */
export const isDiskFull = (error: unknown) => /^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)$/.test(codeOf(error));

export const isTableMissing = (error: unknown) => /no such table/.test((error as Error).message);
