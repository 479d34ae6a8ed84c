import { describe, expect, test } from "bun:test";
import { readdir, rename } from "node:fs/promises";
import { createServer } from "node:net";
import { SQL } from "bun";
import { ServiceError } from "../../src/base/errors.ts";
import { findCursor, saveCursor } from "../../src/database/cursor.ts";
import type { Database } from "../../src/database/database.ts";
import type { StoreFailure } from "../../src/database/engines/engine.ts";
import { engineOf } from "../../src/database/engines/index.ts";
import { isDatabaseError, openDatabase } from "../../src/database/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { findFreePort } from "../support/free-port.ts";
import { connectTo, createMigratedStore, temporaryFolder } from "../support/pds.ts";
import { pgbouncer, startPooler } from "../support/pooler.ts";
import { canHaveSmallDisk, createPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

interface Store {
  readonly url: string;
  readonly database: Database;
  /** Another connection to it. */
  readonly other: SQL;
}

/** Does what fails, and returns the failure or throws it. */
type Cause = (store: Store) => unknown;
type Case = readonly [name: string, expected: StoreFailure, cause: Cause];

async function openStore(engine: "sqlite" | "postgres"): Promise<Store & AsyncDisposable> {
  const url = await createMigratedStore(engine);
  const database = await openDatabase(url, "scheduling");
  const other = await connectTo(url);
  return {
    url,
    database,
    other,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([database.close(0), other.close({ timeout: 0 })]);
    },
  };
}

async function errorOf(cause: () => unknown): Promise<unknown> {
  try {
    await cause();
  } catch (error) {
    return error;
  }
  throw new Error("nothing failed");
}

/** Runs a statement on a connection of its own. */
async function connectAnd(statement: string, url: string, options: SQL.Options = {}): Promise<void> {
  await using sql = new SQL(url, { max: 1, ...options });
  await sql.unsafe(statement);
}

const duplicate: Cause = async ({ database: { sql } }) => {
  for (const _ of [1, 2]) await sql`INSERT INTO cursor (name, value) VALUES ('twice', '')`;
};
const withoutTable: Cause = ({ database }) => database.sql`SELECT 1 FROM nowhere`;
const readWithoutTable: Cause = ({ database }) => database.read("SELECT 1 FROM nowhere", []);
const misspelled: Cause = ({ database }) => database.sql`SELEKT 1`;
const longCursor = { name: "shop", value: "x".repeat(100_000) } as const;

const embedded: readonly Case[] = [
  [
    "a write while another connection writes",
    "busy",
    async ({ database, other }) => {
      const error = Promise.withResolvers();
      await other.begin("IMMEDIATE", () => saveCursor(database, "shop", "1").catch(error.resolve));
      throw await error.promise;
    },
  ],
  [
    "a look at a file that another connection has for itself",
    "busy",
    async () => {
      const url = `sqlite:${await temporaryFolder()}/locked.sqlite`;
      await using sql = new SQL(url);
      await sql`CREATE TABLE cursor (name TEXT)`;
      await sql.begin("EXCLUSIVE", () =>
        engineOf(url).file?.lookAt(url, async (read) => read("SELECT * FROM cursor", [])),
      );
    },
  ],
  [
    "a file that may not grow",
    "full",
    async ({ database }) => {
      const [{ page_count: pages } = { page_count: 0 }] = await database.sql<{ page_count: number }[]>`
        PRAGMA page_count`;
      await database.sql.unsafe(`PRAGMA max_page_count = ${pages}`);
      await saveCursor(database, longCursor.name, longCursor.value);
    },
  ],
  ["a statement that names no table", "missing", withoutTable],
  ["a read that names no table", "missing", readWithoutTable],
  ["the same key twice", "other", duplicate],
  ["a misspelled statement", "other", misspelled],
  [
    "a write on a connection that only reads",
    "read-only",
    async ({ database }) => {
      await database.sql`PRAGMA query_only = ON`;
      await saveCursor(database, "shop", "1");
    },
  ],
  ["a write by the reader", "read-only", ({ database }) => database.read("DELETE FROM cursor", [])],
  [
    "a folder in place of the file",
    "other",
    async () => connectAnd("SELECT 1 FROM sqlite_schema", `sqlite:${await temporaryFolder()}`),
  ],
  [
    "a file that was moved away",
    "other",
    async ({ database, url }) => {
      const read = async () => void (await database.read("SELECT 1 FROM cursor", []));
      await read();
      const path = url.slice("sqlite:".length);
      await rename(path, `${path}.away`);
      let error: unknown;
      await until("it is missed", async () => {
        error = await read().catch((cause: unknown) => cause);
        return error !== undefined;
      });
      throw error;
    },
  ],
];

const server: readonly Case[] = [
  [
    "a wait for a lock that reaches the limit",
    "locked",
    async ({ database, other }) => {
      await other.begin(async (holder) => {
        await holder`LOCK TABLE cursor`;
        await database.inTransaction(async (transaction) => {
          await transaction.engine.server?.limitLockWaits(transaction.sql);
          await findCursor(transaction, "shop");
        });
      });
    },
  ],
  ["a statement that names no table", "missing", withoutTable],
  ["a read that names no table", "missing", readWithoutTable],
  [
    "a connection that an administrator ends",
    "lost",
    async ({ database, other }) => {
      await database.inTransaction(async ({ sql }) => {
        const [own] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
        await other`SELECT pg_terminate_backend(${own?.pid}, 10000)`;
        await sql`SELECT 1`;
      });
    },
  ],
  ["a server that refuses connections", "lost", async () => connectAnd("SELECT 1", await unusedUrl())],
  [
    "a server that does not respond",
    "lost",
    async () => {
      const silent = createServer().listen(0, "127.0.0.1");
      cleanUp(() => void silent.close());
      await new Promise((resolve) => silent.once("listening", resolve));
      const { port } = silent.address() as { port: number };
      await connectAnd("SELECT 1", `postgres://pds@127.0.0.1:${port}/pds`, { connectionTimeout: 1 });
    },
  ],
  [
    "a server that crashes",
    "lost",
    async () => {
      const crashing = await createPostgres();
      cleanUp(() => crashing.remove());
      await using sql = new SQL(crashing.url, { max: 1 });
      await sql`SELECT 1`;
      const waiting = errorOf(() => sql`SELECT pg_sleep(60)`);
      await until("the statement runs", async () => {
        await using looking = new SQL(crashing.url, { max: 1 });
        return (await looking`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'`).length > 0;
      });
      await crashing.stop("SIGKILL");
      throw await waiting;
    },
  ],
  [
    "a write where only reads are accepted",
    "read-only",
    ({ database }) =>
      database.inTransaction(async (transaction) => {
        await transaction.sql`SET TRANSACTION READ ONLY`;
        await saveCursor(transaction, "shop", "1");
      }),
  ],
  ["a prepared statement that the connection does not have", "unprepared", ({ database }) => database.sql`EXECUTE one`],
  [
    "a prepared statement that the connection has already",
    "unprepared",
    ({ database }) =>
      database.inTransaction(async ({ sql }) => {
        for (const _ of [1, 2]) await sql.unsafe("PREPARE one AS SELECT 1");
      }),
  ],
  ["the same key twice", "other", duplicate],
  ["a misspelled statement", "other", misspelled],
  [
    "a statement that takes too long",
    "other",
    ({ database }) =>
      database.inTransaction(async ({ sql }) => {
        await sql`SET LOCAL statement_timeout = 10`;
        await sql`SELECT pg_sleep(60)`;
      }),
  ],
  [
    "a deadlock",
    "other",
    async ({ database, other }) => {
      await other`INSERT INTO cursor (name, value) VALUES ('a', ''), ('b', '')`;
      const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const lock = async (sql: SQL, own: number) => {
        const names = own === 0 ? ["a", "b"] : ["b", "a"];
        await sql`UPDATE cursor SET value = '1' WHERE name = ${names[0]}`;
        locked[own]?.resolve();
        await locked[1 - own]?.promise;
        await sql`UPDATE cursor SET value = '1' WHERE name = ${names[1]}`;
      };
      await Promise.all([database.inTransaction(({ sql }) => lock(sql, 0)), other.begin((sql) => lock(sql, 1))]);
    },
  ],
  [
    "a database that is not there",
    "other",
    ({ url }) => connectAnd("SELECT 1", Object.assign(new URL(url), { pathname: "/nowhere" }).href),
  ],
];

const unusedUrl = async () => `postgres://pds@127.0.0.1:${await findFreePort()}/pds`;

describe.each([
  ["sqlite", embedded],
  ["postgres", server],
] as const)("on %s, an error", (engine, cases) => {
  test.each(cases)("of %s is %s", async (_, expected, cause) => {
    await using store = await openStore(engine);
    const error = await errorOf(() => cause(store));
    expect([engineOf(store.url).classify(error), `${error}`]).toEqual([expected, `${error}`]);
    expect(isDatabaseError(error)).toBe(true);
  });

  test.each([
    ["with its words", new Error("no such table: run")],
    ["that has it as its cause", new ServiceError("unavailable", "busy", { cause: new SQL.SQLError("busy") })],
    ["of a file", errorOf(() => readdir("/nowhere"))],
    ["that is no object", "busy"],
    ["that is undefined", undefined],
  ])("%s is not its own", async (_, error) => {
    expect(engineOf(`${engine}:`).classify(await error)).toBeUndefined();
    expect(isDatabaseError(await error)).toBe(false);
  });
});

test.skipIf(!canHaveSmallDisk)("on postgres, an error of a full disk is full", async () => {
  const small = await createPostgres([], 20);
  cleanUp(() => small.remove());
  const error = await errorOf(async () => {
    const fill =
      "CREATE TABLE filling TABLESPACE small AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 100000) n";
    await connectAnd(fill, small.url);
  });
  expect([engineOf(small.url).classify(error), `${error}`]).toEqual(["full", `${error}`]);
});

test.skipIf(pgbouncer === null)("on postgres, an error of a pooler that refuses parameters is refused", async () => {
  const { url } = await startPooler(await createMigratedStore("postgres"));
  const error = await errorOf(() => connectAnd("SELECT 1", url, { connection: { lock_timeout: "1000" } }));
  expect([engineOf(url).classify(error), `${error}`]).toEqual(["refused", `${error}`]);
});
