import type { SQL } from "bun";
import type { MaybePromise } from "../../base/maybe-promise.ts";
import type { NewRows } from "./insert-rows.ts";

export type Value = string | number | bigint;

/**
 * Runs a query whose statement stays prepared. Its values are `$1`, `$2`, …, in this order. An
 * embedded store has the rows at once, and throws at once.
 */
export type Read = <Row>(statement: string, values: Value[]) => MaybePromise<Row[]>;

/**
 * Purpose of a set of connections; the engine configures them by it:
 * - `serving`: requests and polls for changes, which repeat a few statements.
 * - `scheduling`: claims, leases, and the other writes of a serving process. Its event loop never
 *   blocks on a lock of another process: a statement fails as busy instead, and `inTransaction`
 *   retries.
 * - `background`: console, health checks, and metrics. Their rare statements vary, and each is
 *   planned for its values.
 * - `job`: jobs and commands, whose transactions may be long.
 */
export type Purpose = "serving" | "scheduling" | "background" | "job";

/** How to connect to a server. */
export interface ConnectOptions {
  /** That has the URL, for messages; `DATABASE_URL` by default. */
  readonly setting?: string;
  /** Whether a connection pooler is between this process and the server. */
  readonly isPooled?: boolean;
  /** Whether statements stay prepared. */
  readonly isPrepared?: boolean;
  /** How many connections at most; one by default, or as many as a job needs. */
  readonly max?: number;
}

export interface EngineConnections {
  readonly sql: SQL;
  /** For transactions; those of a run have one connection. */
  readonly transactions: SQL;
  readonly read: Read;
  /** @param timeout seconds that queries in progress may take */
  readonly close: (timeout: number) => Promise<void>;
  /** Opens new connections to a server that no longer responds; what waits for it fails. */
  readonly replace: () => void;
  /** The folder of an embedded store's file; undefined for a server. */
  readonly folder: string | undefined;
}

/** Column types and options whose names differ between engines. */
export interface ColumnTypes {
  /** A key that the database counts up. */
  readonly counter: string;
  /** Text that is compared byte by byte. */
  readonly key: string;
  readonly bytes: string;
  /** Table option that stores rows in the order of the primary key. */
  readonly clustered: string;
  /**
   * Table option that builds indexes in one process: several would take the cores from serving.
   */
  readonly singleProcess: string;
}

/** Locks that serialize transactions. */
export type LockName = "schema" | "changes";

/** Where the engine cannot foresee which of several ways is short, the short one is tried first. */
export interface ProductQueries {
  /**
   * Of the first `candidates` products that have the words: their ids, and 1 as `isFound` if they
   * meet the conditions too.
   */
  readonly first?: { readonly query: string; readonly candidates: number };
  /** Finds all, for `readByIndex`. */
  readonly all: string;
}

/** A list of keys as one value. */
export interface KeyList {
  /** Condition: whether a column has one of the keys. */
  readonly contains: (column: string, value: string) => string;
  readonly toValue: (keys: readonly string[]) => string;
}

/** Everything that differs between database engines. */
export interface Engine {
  /** How the URLs of its stores begin, with the colon. */
  readonly schemes: readonly string[];
  /** Whether the store is there. An embedded one may not have been created yet. */
  readonly exists: (url: string) => boolean;
  /** @throws Error when this process may not write or create the file of an embedded store */
  readonly requireWritable: (url: string) => void;
  /** Opens connections, and creates the file of an embedded store. */
  readonly open: (url: string, purpose: Purpose, options: ConnectOptions) => Promise<EngineConnections>;
  /**
   * Runs work on an embedded store that is there so that its file cannot change.
   * @returns its result; undefined for a server, and if the work cannot be done before something is rolled
   * back that a killed process left
   */
  readonly lookAt: <T>(url: string, work: (read: Read) => Promise<T>) => Promise<T | undefined>;
  /** The statements that create the tables of an empty store. */
  readonly schema: readonly string[];
  /** Query for the `name` of everything that is where tables are created, also what other programs made. */
  readonly names: string;
  /** Sets up the file of an embedded store that this program made, or is about to. */
  readonly prepareFile: (sql: SQL) => Promise<void>;
  readonly columnTypes: ColumnTypes;
  /** Useful number of concurrent reads. More would only queue inside the engine. */
  readonly maxConcurrentReads: number;

  /** Options of BEGIN for a transaction that writes, so that it waits for its turn at the start. */
  readonly writeMode: string;
  /** Makes other transactions that want the same lock wait until this one ends. */
  readonly lock: (transaction: SQL, name: LockName) => Promise<void>;
  /** Makes other transactions that change a brand's generations wait until this one ends. */
  readonly lockBrand: (transaction: SQL, brand: string) => Promise<void>;
  /** Lets a transaction wait and take as long as it needs. */
  readonly withoutTimeouts: (transaction: SQL) => Promise<void>;
  /** Says which right this user of the database lacks; undefined if none is known to be missing. */
  readonly findMissingRight: (sql: SQL) => Promise<string | undefined>;
  /**
   * Compares connections through a pooler with direct ones.
   * @returns which limits the former lack
   * @throws ServiceError `unavailable` when they lead to different tables
   */
  readonly checkPooler: (pooled: SQL, direct: SQL) => Promise<string[]>;
  /**
   * Makes a transaction fail soon when it has to wait for a lock: statements that read the same
   * table would wait behind it.
   */
  readonly limitLockWaits: (transaction: SQL) => Promise<void>;
  /** Marks a transaction as one of a run until it ends, for `endAbandoned`. */
  readonly holdRun: (transaction: SQL, pool: SQL, run: number) => Promise<void>;
  /**
   * Ends the transactions of abandoned runs, whose machines may be unreachable.
   * @returns for each that this role may not end, a message
   */
  readonly endAbandoned: (sql: SQL) => Promise<string[]>;

  /**
   * Expression: which history of the store this is, which changes when a standby becomes the primary;
   * null on a standby.
   */
  readonly history: string;
  /** Expression: the database's clock, as ISO 8601 text in UTC with milliseconds. */
  readonly now: string;
  /** Expression: that clock some seconds later; a number, or a column. */
  readonly later: (seconds: number | string) => string;
  /** Expression: a text as bytes in UTF-8, which skips decoding it into a string. */
  readonly toBytes: (text: string) => string;
  /** Expression: the handle in a product's document, as JSON escapes it. It is indexed. */
  readonly handleOf: (document: string) => string;
  /** Condition: whether bytes contain a text in UTF-8. */
  readonly contains: (bytes: string, text: string) => string;
  /** How a statement names its nth value, counted from 1. */
  readonly placeholder: (place: number) => string;
  /** Conditions: whether a product's document has a value, as JSON escapes it. They are indexed. */
  readonly hasStatus: (document: string, value: string) => string;
  readonly hasVendor: (document: string, value: string) => string;
  readonly hasTag: (document: string, value: string) => string;
  /**
   * Queries for the ids above `$1`, in order, of the products that meet all conditions.
   * @param words how a statement names a value that `toSearchText` made; undefined for all products
   * @param conditions made by `hasStatus` and the like
   */
  readonly productQueries: (words: string | undefined, conditions: readonly string[]) => ProductQueries;
  /** Runs a query in which no table may be read as a whole. */
  readonly readByIndex: <Row>(sql: SQL, statement: string, values: Value[]) => Promise<Row[]>;
  /** Search text that matches all words. The last may be a prefix. */
  readonly toSearchText: (words: readonly string[], isLastPrefix: boolean) => string;

  readonly keyList: KeyList;
  /** Whether one statement for several requests saves round trips to a server. */
  readonly hasRoundTrips: boolean;

  /** Inserts many rows whose keys are new, as fast as the engine can. */
  readonly load: <Row>(sql: SQL, rows: NewRows<Row>) => Promise<void>;
  /** Makes the space of deleted rows reusable, and updates the map of pages visible to all. */
  readonly vacuum: (sql: SQL, table: string) => Promise<void>;
  /** Frees the disk space of the write-ahead log. */
  readonly truncateLog: (sql: SQL) => Promise<void>;
  /** The space that the store has freed inside its file. */
  readonly readReusableBytes: (sql: SQL) => Promise<number>;

  /**
   * Copies the store at a URL, as of one moment, into an empty file, and checks the copy; undefined for a
   * server, which has tools of its own.
   */
  readonly backUp: ((url: string, path: string) => void) | undefined;

  /** Whether the engine raised the error. Statements are tested, so the store is unreachable. */
  readonly isStoreError: (error: unknown) => boolean;
  /** Whether another process holds the write lock. */
  readonly isBusy: (error: unknown) => boolean;
  /** Whether a wait for a lock reached the limit. */
  readonly isLocked: (error: unknown) => boolean;
  /** Whether the disk is full, or a file reached its size limit. */
  readonly isDiskFull: (error: unknown) => boolean;
  readonly isTableMissing: (error: unknown) => boolean;
  /** Whether the connection failed, and not a statement; also if it leads to a standby. */
  readonly isConnectionLost: (error: unknown) => boolean;
  /** Whether a prepared statement is not that of the connection: a pooler exchanged the connection. */
  readonly isPreparedElsewhere: (error: unknown) => boolean;
  /** Whether a pooler refused the parameters of a connection. */
  readonly isPoolerRefusal: (error: unknown) => boolean;
  /** Whether the connection leads to a standby, which accepts no writes. */
  readonly isReadOnly: (error: unknown) => boolean;
}
