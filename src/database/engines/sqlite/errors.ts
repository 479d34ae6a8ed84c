import { SQLiteError } from "bun:sqlite";
import { SQL } from "bun";
import { fieldOf } from "../engine.ts";

/** The driver and the reader have an error class each. */
export const isStoreError = (error: unknown) => error instanceof SQL.SQLiteError || error instanceof SQLiteError;

export const isBusy = (error: unknown) => fieldOf(error, "code").startsWith("SQLITE_BUSY");

/** A quota or a file size limit appears as a failed write. */
export const isDiskFull = (error: unknown) => /^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)$/.test(fieldOf(error, "code"));

export const isTableMissing = (error: unknown) => /no such table/.test((error as Error).message);
