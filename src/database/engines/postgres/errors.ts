import { SQL } from "bun";
import type { StoreFailure } from "../engine.ts";

/** The server's code of an error: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const sqlStateOf = (error: unknown) => `${(error as { errno?: unknown }).errno}`;

const failures: Readonly<Record<string, StoreFailure>> = {
  "55P03": "locked", // lock_not_available
  "53100": "full", // disk_full
  "42P01": "missing", // undefined_table
  // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout
  "57P01": "lost",
  "57P02": "lost",
  "57P03": "lost",
  "57P05": "lost",
  // data_corrupted, index_corrupted
  XX001: "damaged",
  XX002: "damaged",
  "25006": "read-only", // read_only_sql_transaction
  // duplicate_prepared_statement, invalid_sql_statement_name
  "42P05": "unprepared",
  "26000": "unprepared",
};

export function classify(error: unknown): StoreFailure | undefined {
  // The base class: a lost connection may have no class of its own.
  if (!(error instanceof SQL.SQLError)) return undefined;
  // The driver's own codes.
  if (/^ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)_/.test(`${(error as { code?: unknown }).code}`)) return "lost";
  const state = sqlStateOf(error);
  // protocol_violation; PostgreSQL itself reports invalid parameters differently.
  if (state === "08P01" && error.message.startsWith("unsupported startup parameter")) return "refused";
  return failures[state] ?? "other";
}
