import type { SQL } from "bun";
import type { MaybePromise } from "../../base/maybe-promise.ts";

export type Value = string | number | bigint;
export type Cell = string | number | Uint8Array | null;

/**
 * Runs a query that stays prepared, with the values `$1`, `$2`, …. An embedded store returns the
 * rows, and throws, synchronously.
 */
export type Read = <Row>(statement: string, values: Value[]) => MaybePromise<Row[]>;

/**
 * The engine configures connections by purpose:
 * - `serving`: requests and polls, which repeat a few statements.
 * - `scheduling`: claims, leases, and other writes of a serving process. A locked statement fails
 *   as busy instead of blocking the event loop, and `inTransaction` retries.
 * - `background`: console, health checks, and metrics. Their statements vary.
 * - `job`: jobs and commands, whose transactions may be long.
 */
export type Purpose = "serving" | "scheduling" | "background" | "job";

export interface ConnectOptions {
  /** Name of the setting with the URL, for messages; `DATABASE_URL` by default. */
  readonly setting?: string;
  readonly isPooled?: boolean;
  readonly isPrepared?: boolean;
  /** Maximum number of connections; by default one, or as many as a job needs. */
  readonly max?: number;
}

export interface EngineConnections {
  readonly sql: SQL;
  readonly read: Read;
  /**
   * Runs work in a transaction that may write.
   * @param run the run of the work; the transaction ends when others abandon the run
   */
  readonly begin: <T>(work: (transaction: SQL) => Promise<T>, run: number | undefined) => Promise<T>;
  /** @param timeout seconds that queries in progress may take */
  readonly close: (timeout: number) => Promise<void>;
  /** Replaces connections to a server that no longer responds. Queries that wait for it fail. */
  readonly replace?: () => void;
  /** The folder of an embedded store's file; undefined for a server. */
  readonly folder: string | undefined;
}

export interface ColumnTypes {
  /** An automatically numbered primary key. */
  readonly counter: string;
  /** Text that is compared byte by byte. */
  readonly key: string;
  readonly bytes: string;
  /** Table option that stores rows in the order of the primary key. */
  readonly clustered: string;
  /** Table option that builds indexes in one process, which leaves other cores to serving. */
  readonly singleProcess: string;
}

/** Serializes creating the tables, recording changes, or changing a brand's versions. */
export type LockName = "schema" | "changes" | { readonly brand: string };

/** What an error means to the caller; "other" covers the rest of the engine's errors. */
export type StoreFailure =
  | "busy" // Another process holds the write lock.
  | "locked" // A wait for a lock reached the limit.
  | "full" // The disk is full, or a file reached its size limit.
  | "missing" // A table is missing.
  | "lost" // The connection failed, and not a statement.
  | "damaged" // A part of the store cannot be read: its file was cut off or overwritten.
  | "read-only" // The store accepts no writes: it is a standby, or read-only.
  | "unprepared" // A prepared statement is unknown, because a pooler switched the connection.
  | "refused" // A pooler refused the parameters of a connection.
  | "other";

export interface NewRows<Row> {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Appends a row's cells, in the order of the columns. */
  readonly append: (cells: Cell[], row: Row) => void;
}

export interface KeyList {
  /** Condition: whether a column has one of the keys. */
  readonly contains: (column: string, value: string) => string;
  readonly toValue: (keys: readonly string[]) => string;
}

/** Conditions for products. All of them apply. */
export interface ProductSearch {
  /** Only products with a higher id than this. */
  readonly after: bigint;
  /** Words that `toWords` made, all of which must match; undefined for all products. */
  readonly words: readonly string[] | undefined;
  readonly isLastPrefix: boolean;
  /** Values in the product's document, as JSON escapes them. */
  readonly facts: ReadonlyMap<ProductFact, string>;
  readonly limit: number;
}

export type ProductFact = "status" | "vendor" | "tag";

/** What only an embedded store has. */
export interface StoreFile {
  /**
   * Runs work on the store without changing its file. A store that does not exist yet looks empty.
   * @returns undefined if a killed process left changes that must be rolled back first
   */
  readonly lookAt: <T>(url: string, work: (read: Read) => Promise<T>) => Promise<T | undefined>;
  /** @throws Error when this process may not write or create the file */
  readonly requireWritable: (url: string) => void;
  /** @throws Error when the file is damaged. Reads all of it, and compares its indexes with its tables. */
  readonly requireWhole: (url: string) => void;
  /** Sets up a file of this program. */
  readonly prepare: (sql: SQL) => Promise<void>;
  /** Frees the disk space of the write-ahead log. */
  readonly truncateLog: (sql: SQL) => Promise<void>;
  /** The space that the store has freed inside its file. */
  readonly readReusableBytes: (sql: SQL) => Promise<number>;
  /** Copies the store, as of one moment, into an empty file, and checks the copy. */
  readonly backUp: (url: string, path: string) => void;
}

/** What only a server has, which others share. */
export interface StoreServer {
  /** Makes other transactions that want the same lock wait until this one ends. */
  readonly lock: (transaction: SQL, name: LockName) => Promise<void>;
  /** Makes a transaction fail soon when it waits for a lock: readers would queue behind it. */
  readonly limitLockWaits: (transaction: SQL) => Promise<void>;
  /**
   * Ends the transactions of abandoned runs, whose machines may be unreachable.
   * @returns a message for each that this role may not end
   */
  readonly endAbandoned: (sql: SQL) => Promise<string[]>;
  /** @returns the right that this role lacks; undefined if none is known to be missing */
  readonly findMissingRight: (sql: SQL) => Promise<string | undefined>;
  /**
   * @returns limits that pooled connections lack
   * @throws ServiceError `unavailable` when they lead to different tables
   */
  readonly checkPooler: (pooled: SQL, direct: SQL) => Promise<string[]>;
}

/** A store has a file or a server. */
export interface Engine {
  /** URL schemes, with the colon. */
  readonly schemes: readonly string[];
  /** Opens connections, and creates the file of an embedded store. */
  readonly open: (url: string, purpose: Purpose, options: ConnectOptions) => Promise<EngineConnections>;
  readonly file?: StoreFile;
  readonly server?: StoreServer;
  /** @returns undefined for an error that the engine did not raise */
  readonly classify: (error: unknown) => StoreFailure | undefined;
  /** Useful number of concurrent reads. More would only queue inside the engine. */
  readonly maxConcurrentReads: number;

  readonly schema: readonly string[];
  /** Query for every `name` in use where tables are created, also by other programs. */
  readonly names: string;
  readonly columnTypes: ColumnTypes;

  /** Expression: the store's history, which changes at a failover; null on a standby. */
  readonly history: string;
  /** Expression: the database's clock, as ISO 8601 text in UTC with milliseconds. */
  readonly now: string;
  /** Expression: the clock some seconds later; a number, or a column. */
  readonly later: (seconds: number | string) => string;
  /** Expression: a text as bytes in UTF-8, which skips decoding it into a string. */
  readonly toBytes: (text: string) => string;
  /** Condition: whether bytes contain a text in UTF-8. */
  readonly contains: (bytes: string, text: string) => string;
  readonly keyList: KeyList;
  /** Expression: the handle in a product's document, as JSON escapes it, if any. It is indexed. */
  readonly handleOf: (document: string) => string;

  /** In order, without reading a whole table. */
  readonly findProductIds: (
    connections: Pick<EngineConnections, "sql" | "read">,
    search: ProductSearch,
  ) => Promise<string[]>;
  /** Inserts many rows whose keys are new, as fast as the engine can. */
  readonly load: <Row>(sql: SQL, rows: NewRows<Row>) => Promise<void>;
}
