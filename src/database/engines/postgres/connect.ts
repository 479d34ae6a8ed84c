import { SQL } from "bun";
import type { ConnectOptions, EngineConnections, Purpose, Value } from "../engine.ts";
import { classify } from "./errors.ts";
import { holdRun } from "./run-lock.ts";

export const maxConcurrentReads = 16;

/** Per run, besides the one for transactions. Few, because the driver opens all of them at once. */
const jobConnections = 3;

/**
 * Characters of prepared statements. The server keeps each with its plan, which is 75 times as
 * large, until the connection ends; and each import changes the statement that finds SKUs.
 */
const maxPreparedLength = 2 ** 18;
/** Time for replaced connections to finish their statements. No statement takes longer. */
const finishingSeconds = 10;

const seconds = (count: number) => `${count * 1000}`;

/** Let the server notice a client that no longer responds, even during a long statement. */
const livenessChecks = {
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  tcp_user_timeout: seconds(30),
  client_connection_check_interval: seconds(5),
};

const parametersOf: Readonly<Record<Purpose, Readonly<Record<string, string>>>> = {
  // The store's concurrency limit gives up after five seconds. Statements name the tables of all
  // brands but read few rows: planning them for their values, or running them in parallel, would
  // take longer than running them.
  serving: {
    ...timeouts({ lock: 5, statement: 10, idle: 5 }),
    plan_cache_mode: "force_generic_plan",
    max_parallel_workers_per_gather: "0",
  },
  // A frozen replica must not hold up the claims of the others.
  scheduling: timeouts({ lock: 5, statement: 30, idle: 5 }),
  background: timeouts({ lock: 5, statement: 60, idle: 5 }),
  // An import may wait for another's transaction. The other limits matter if no process abandons
  // its run.
  job: timeouts({ lock: 300, statement: 3600, idle: 60 }),
};

function timeouts({ lock, statement, idle }: Readonly<Record<"lock" | "statement" | "idle", number>>) {
  return {
    lock_timeout: seconds(lock),
    statement_timeout: seconds(statement),
    idle_in_transaction_session_timeout: seconds(idle),
  };
}

/** The driver pipelines statements, so one connection serves many requests at once. */
export function connect(
  url: string,
  purpose: Purpose,
  { isPooled = false, isPrepared = true, max = purpose === "job" ? jobConnections : 1 }: ConnectOptions,
): EngineConnections {
  const open = (max: number) =>
    new SQL(url, {
      connectionTimeout: 5,
      max,
      // A prepared statement's plan ignores the values: to find the newest run of a job that rarely
      // ran, it would scan all runs.
      prepare: isPrepared && purpose !== "background",
      // A pooler refuses parameters, so the role has them.
      ...(!isPooled && { connection: { ...livenessChecks, ...parametersOf[purpose] } }),
    });
  const openAll = () => {
    const sql = open(max);
    // One connection, so that a run has one server process. It opens with the first transaction.
    return { sql, transactions: purpose === "job" ? open(1) : sql };
  };
  let pools = openAll();
  const close = async (timeout: number) => {
    await Promise.all([...new Set([pools.sql, pools.transactions])].map((pool) => pool.close({ timeout })));
  };
  const countPrepared = createLimit(maxPreparedLength, () => {
    const { sql } = pools;
    pools = openAll();
    const finish = () => sql.close({ timeout: finishingSeconds }).catch(() => {});
    setTimeout(finish, finishingSeconds * 1000).unref();
  });
  const replace = () => {
    // A query that waits on a silent connection fails now.
    void close(0).catch(() => {});
    pools = openAll();
  };
  return {
    get sql() {
      return pools.sql;
    },
    begin: async <T>(work: (transaction: SQL) => Promise<T>, run: number | undefined) => {
      try {
        // Not READ WRITE, which a standby refuses with a code that does not identify standbys.
        return (await pools.transactions.begin("ISOLATION LEVEL READ COMMITTED", async (transaction) => {
          if (run !== undefined) await holdRun(transaction, pools.sql, run);
          return await work(transaction);
        })) as T;
      } catch (error) {
        // The next connection leads to the primary, when there is one.
        if (classify(error) === "read-only") replace();
        throw error;
      }
    },
    read: <Row>(statement: string, values: Value[]) => {
      if (purpose === "serving") countPrepared(statement);
      return pools.sql.unsafe<Row[]>(statement, values);
    },
    close,
    replace,
    folder: undefined,
  };
}

/** Counts the characters of distinct statements, and starts over beyond a limit. */
function createLimit(maxLength: number, onExceeded: () => void): (statement: string) => void {
  const statements = new Set<string>();
  let length = 0;
  return (statement) => {
    if (statements.has(statement)) return;
    length += statement.length;
    if (length > maxLength) {
      onExceeded();
      statements.clear();
      length = statement.length;
    }
    statements.add(statement);
  };
}
