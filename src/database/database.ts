import type { SQL } from "bun";
import type { Connections, Engine, Read } from "./engines/engine.ts";
import { retryWhileBusy } from "./engines/retry-while-busy.ts";

/**
 * Runs statements: a database, or a transaction in it. Every query takes one as its first argument.
 * The type is nominal, because `{ ...database, sql }` would read and write on two connections.
 */
export abstract class Queryable {
  readonly engine: Engine;
  readonly sql: SQL;
  /** Runs a query that repeats. */
  readonly read: Read;
  declare protected readonly nominal: "Queryable";

  constructor(engine: Engine, sql: SQL, read: Read) {
    this.engine = engine;
    this.sql = sql;
    this.read = read;
  }
}

/** A transaction that may write. Its reads see its own writes. */
export class Transaction extends Queryable {
  declare protected readonly kind: "Transaction";

  constructor(engine: Engine, sql: SQL) {
    super(engine, sql, <Row>(...query: Parameters<Read>) => sql.unsafe<Row[]>(...query));
  }
}

/** An open store. */
export class Database extends Queryable {
  /** Its URL without credentials, for messages. */
  readonly name: string;
  /** The folder of an embedded store's file; undefined for a server. */
  readonly folder: string | undefined;
  readonly closeReader: () => void;

  constructor(engine: Engine, name: string, { sql, read, closeReader, folder }: Connections) {
    super(engine, sql, read);
    this.name = name;
    this.folder = folder;
    this.closeReader = closeReader;
  }

  /** Runs `work` in one transaction: waits for its turn, then commits all of it or nothing. */
  inTransaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { engine, sql } = this;
    return retryWhileBusy(
      engine,
      async () => (await sql.begin(engine.writeMode, (own) => work(new Transaction(engine, own)))) as T,
    );
  }
}

/** The database's clock: ISO 8601 in UTC with milliseconds. */
export async function readNow({ sql, engine }: Queryable): Promise<string> {
  const [row] = await sql<{ now: string }[]>`SELECT ${sql.unsafe(engine.now)} AS now`;
  return row?.now ?? "";
}
