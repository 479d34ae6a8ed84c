import type { SQL } from "bun";
import type { Engine, EngineConnections, LockName, Read } from "./engines/engine.ts";
import { retryWhileBusy } from "./engines/retry-while-busy.ts";

/**
 * A database, or a transaction in it. Every query takes one as its first argument.
 * - `read` runs queries whose text does not depend on values, such as those of requests and polls.
 *   They stay prepared, and an embedded store returns their rows synchronously.
 * - ``sql`…` `` runs everything else. Values are interpolated; so are expressions of the engine and
 *   lists of columns, as `${sql.unsafe(text)}`.
 * - `sql.unsafe(text)` as a whole statement is only for this folder.
 * The type is nominal, because `{ ...database, sql }` would read and write on two connections.
 */
export abstract class Queryable {
  readonly engine: Engine;
  abstract readonly sql: SQL;
  readonly read: Read;
  declare protected readonly nominal: "Queryable";

  constructor(engine: Engine, read: Read) {
    this.engine = engine;
    this.read = read;
  }
}

/** A transaction that may write. Its reads see its own writes. */
export class Transaction extends Queryable {
  declare protected readonly kind: "Transaction";
  readonly sql: SQL;

  constructor(engine: Engine, sql: SQL) {
    super(engine, <Row>(...query: Parameters<Read>) => sql.unsafe<Row[]>(...query));
    this.sql = sql;
  }

  async lock(name: LockName): Promise<void> {
    // In an embedded store, no two transactions write at the same time.
    await this.engine.server?.lock(this.sql, name);
  }
}

export class Database extends Queryable {
  readonly name: string;
  readonly #connections: EngineConnections;
  readonly #run: number | undefined;

  constructor(engine: Engine, name: string, connections: EngineConnections, run?: number) {
    super(engine, connections.read);
    this.name = name;
    this.#connections = connections;
    this.#run = run;
  }

  get sql(): SQL {
    return this.#connections.sql;
  }

  get folder(): string | undefined {
    return this.#connections.folder;
  }

  /** The same store for a run: others can end its transactions when they abandon the run. */
  forRun(run: number): Database {
    return new Database(this.engine, this.name, this.#connections, run);
  }

  /** The same store, with a clock that is behind by this many seconds. */
  behind(seconds: number): Database {
    const { engine } = this;
    const later: Engine["later"] = (added) => engine.later(`(${added} - ${seconds})`);
    return new Database({ ...engine, now: later(0), later }, this.name, this.#connections, this.#run);
  }

  /** Drops connections that may never respond: queries that wait for them fail. */
  reconnect(): void {
    this.#connections.replace?.();
  }

  close(timeout: number): Promise<void> {
    return this.#connections.close(timeout);
  }

  /** Waits for its turn, then commits all of the work or nothing. */
  async inTransaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { engine } = this;
    const workIn = (own: SQL) => work(new Transaction(engine, own));
    return await retryWhileBusy(engine, () => this.#connections.begin(workIn, this.#run));
  }
}

/** The database's clock: ISO 8601 in UTC with milliseconds. */
export async function readNow({ sql, engine }: Queryable): Promise<string> {
  const [row] = await sql<{ now: string }[]>`SELECT ${sql.unsafe(engine.now)} AS now`;
  return row?.now ?? "";
}
