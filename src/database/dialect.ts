/** Every difference between the two engines, by what it is for. */
export interface Dialect {
  /** Statements for a new connection. */
  readonly setup: readonly string[];
  /** Options of BEGIN for a transaction that will write, so that it waits for its turn at the start. */
  readonly write: string;
  /** Statement that makes other migrating replicas wait until this transaction ends. */
  readonly lockMigrations: string;
  /** Column type of a key that the database counts up. */
  readonly counter: string;
  /** Column type of text compared byte by byte. */
  readonly key: string;
  /** Table option that keeps the rows in the primary key's order. */
  readonly clustered: string;
  /** Expression: the database's clock, as ISO 8601 text in UTC with milliseconds. */
  readonly now: string;
}

const sqlite: Dialect = {
  setup: [
    // First, so that whatever follows waits for another process's lock.
    "PRAGMA busy_timeout = 10000",
    // Readers go on while an import writes.
    "PRAGMA journal_mode = WAL",
    // With WAL this loses at most the last commits at a power cut, and never the database.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -16384",
    "PRAGMA journal_size_limit = 67108864",
  ],
  write: "IMMEDIATE",
  lockMigrations: "SELECT 1",
  counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
  key: "TEXT",
  clustered: "WITHOUT ROWID",
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
};

const postgres: Dialect = {
  setup: [],
  write: "READ WRITE",
  // Any constant does that nothing else in the database uses: this one spells "pds" and a number.
  lockMigrations: "SELECT pg_advisory_xact_lock(7365747301)",
  counter: "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  key: 'TEXT COLLATE "C"',
  clustered: "",
  now: `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
};

/** The dialect of a `sqlite:` or `postgres:` address. */
export function dialectOf(url: string): Dialect {
  return url.startsWith("sqlite:") ? sqlite : postgres;
}
