import type { SQL } from "bun";
import type { Connections } from "./engine.ts";

/** A table of the staging area that is not moved: what has been loaded there. */
export const progressTable = "staged_generation";

/** The store as of one moment. Reading it holds up neither readers nor writers. */
export interface Snapshot {
  readonly all: <Row>(query: string) => Promise<Row[]>;
  /** The rows of a query, a few at a time, so that memory stays small. */
  readonly batches: <Row>(query: string) => AsyncGenerator<Row[]>;
  readonly close: () => Promise<void>;
}

/**
 * Reads a whole store, and puts another one in its place. The other one is built in a staging area
 * beside the store, which nothing else uses.
 */
export interface Transfer {
  /** Query: the columns of a table in order, as `name` and `type`; no rows without the table. */
  readonly columnsQuery: (table: string) => string;
  /** Query: the highest id that a table's counter has given, as `last`. */
  readonly counterQuery: (table: string) => string;
  /** @param counters the highest ids by table */
  readonly setCounters: (sql: SQL, counters: Readonly<Record<string, number>>) => Promise<unknown>;

  /** @param isStaging whether to read what is in the staging area */
  readonly openSnapshot: (url: string, isStaging: boolean) => Promise<Snapshot>;
  /** @returns a function that releases the lock; undefined if another process has the staging area */
  readonly lockStaging: (url: string) => Promise<(() => Promise<void>) | undefined>;
  readonly openStaging: (url: string) => Promise<Connections>;
  readonly removeStaging: (url: string) => Promise<void>;
  /**
   * Calls back with access to the staging area. The transactions of the connection can then move
   * its tables.
   */
  readonly withStaging: (sql: SQL, url: string, work: () => Promise<void>) => Promise<void>;
  /** Makes other transactions that read or write the store wait until this one ends. */
  readonly lockStore: (transaction: SQL) => Promise<void>;
  /** Puts the tables of the staging area in the place of the store's, except `progressTable`. */
  readonly moveTables: (transaction: SQL) => Promise<unknown>;
}
