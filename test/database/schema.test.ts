import { describe, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { SQL } from "bun";
import { connectTo, createMigratedStore, createStore, engines, migrateStore, pds, serve } from "../support/pds.ts";

/** Runs statements as a program that knows nothing of ours. */
async function change(url: string, statements: string): Promise<void> {
  await using sql = new SQL(url);
  for (const statement of statements.split("; ")) await sql.unsafe(statement);
}

/** Expects that every kind of command refuses the store, and changes no byte of its file. */
async function expectRefused(url: string): Promise<void> {
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : undefined;
  const read = () =>
    path && [
      readFileSync(path).toString("base64"),
      ...["-wal", "-shm", "-journal"].filter((end) => existsSync(path + end)),
    ];
  const before = read();
  for (const args of [["history"], ["serve"], ["check"]]) {
    const { code, stdout, stderr } = await pds(args, { DATABASE_URL: url });
    expect([args, code]).toEqual([args, 3]);
    expect(stdout + stderr).toContain("another version of the program, or another program, made its tables");
  }
  expect(read()).toEqual(before);
}

test("a copy that is only looked at stays as it is, and one that is served lets reads go on during writes", async () => {
  const url = await createMigratedStore("sqlite");
  await change(url, "PRAGMA journal_mode = DELETE");
  const path = url.slice("sqlite:".length);
  const before = readFileSync(path);
  for (const command of ["check", "history"]) expect((await pds([command], { DATABASE_URL: url })).code).toBe(0);
  expect(readFileSync(path).equals(before)).toBe(true);
  await using service = await serve({ DATABASE_URL: url });
  expect((await service.get("/api/v1/histories/asc")).status).toBe(200);
  await using sql = new SQL(url);
  expect([...(await sql`PRAGMA journal_mode`)]).toEqual([{ journal_mode: "wal" }]);
});

/** A copy of a store that changed last, with its write-ahead log, as a killed process leaves them. */
async function crash(statement: string): Promise<string> {
  const url = await createMigratedStore("sqlite");
  const path = url.slice("sqlite:".length);
  await using sql = await connectTo(url);
  await sql.unsafe(statement);
  for (const end of ["", "-wal"]) copyFileSync(`${path}${end}`, `${path}.crashed${end}`);
  return `${path}.crashed`;
}

/**
 * Expects that commands end with these statuses, and change no byte of a store or of what lies beside it.
 * @returns what each printed
 */
async function expectUntouched(path: string, ends: readonly string[], statuses: Record<string, number>, at = path) {
  const read = () => ends.map((end) => readFileSync(`${path}${end}`).toString("base64"));
  const before = read();
  const printed: string[] = [];
  for (const [command, status] of Object.entries(statuses)) {
    const { code, stdout, stderr } = await pds([command], { DATABASE_URL: `sqlite:${at}` });
    expect([command, code]).toEqual([command, status]);
    expect(read()).toEqual(before);
    printed.push(stdout + stderr);
  }
  return printed;
}

test.each([
  ["that another version made", "UPDATE schema_fingerprint SET fingerprint = 'another'", undefined, 3],
  ["that is damaged", "UPDATE generation_list SET version = 'newest'", Buffer.alloc(16_384, "garbage!"), 1],
] as const)("the write-ahead log of a store %s is left as it is", async (_, statement, damage, status) => {
  const path = await crash(statement);
  if (damage !== undefined) {
    const file = openSync(path, "r+");
    writeSync(file, damage);
    closeSync(file);
  }
  await expectUntouched(path, ["", "-wal"], { check: status, history: status, serve: status });
});

test.each(["empty", "gone"])("a write-ahead log whose store is %s is kept", async (state) => {
  const path = await crash("UPDATE generation_list SET version = 'newest'");
  if (state === "empty") writeFileSync(path, "");
  else rmSync(path);
  for (const text of await expectUntouched(path, ["-wal"], { check: 1, history: 1, serve: 1 })) {
    expect(text).toContain(`missing or empty, but ${path}-wal has changes`);
  }
});

test.each([
  ["has one of its names, behind a link", "CREATE TABLE run (id INTEGER)", { check: 3, history: 3 }],
  ["has none of its names", "CREATE TABLE other (id INTEGER)", { check: 0, history: 1 }],
])("a look leaves the write-ahead log of another program's store that %s", async (_, statement, statuses) => {
  const url = await createStore("sqlite");
  const path = url.slice("sqlite:".length);
  await using sql = new SQL(url);
  for (const each of ["PRAGMA journal_mode = WAL", statement]) await sql.unsafe(each);
  for (const end of ["", "-wal"]) copyFileSync(`${path}${end}`, `${path}.crashed${end}`);
  symlinkSync(`${path}.crashed`, `${path}.link`);
  await expectUntouched(`${path}.crashed`, ["", "-wal"], statuses, `${path}.link`);
});

test("another program's store that a killed process left to be rolled back stays as it is", async () => {
  const url = await createStore("sqlite");
  const path = url.slice("sqlite:".length);
  await change(url, "CREATE TABLE run (id INTEGER, filler TEXT)");
  await using sql = new SQL(url);
  // A cache too small for the transaction, so that it writes to the file before its end.
  await sql.unsafe("PRAGMA cache_size = 1");
  await sql.unsafe("BEGIN");
  const filler = "x".repeat(4000);
  for (let id = 0; id < 100; id++) await sql`INSERT INTO run VALUES (${id}, ${filler})`;
  for (const end of ["", "-journal"]) copyFileSync(`${path}${end}`, `${path}.crashed${end}`);
  await expectUntouched(`${path}.crashed`, ["", "-journal"], { check: 3, history: 3, serve: 3 });
});

test("on postgres, a store is looked for only where its tables are created", async () => {
  const url = await createMigratedStore("postgres");
  await change(url, "CREATE SCHEMA first; CREATE TABLE first.job_pause (job TEXT)");
  const { searchParams, href } = new URL(url);
  expect(searchParams.size).toBe(0);
  await change(url, `ALTER DATABASE ${new URL(href).pathname.slice(1)} SET search_path = first, public`);
  await expectRefused(url);
});

test("a store of this version is read after a crash, also before anything has written to it", async () => {
  const path = await crash("INSERT INTO cursor (name, value) VALUES ('newest', '1')");
  expect((await pds(["history"], { DATABASE_URL: `sqlite:${path}` })).code).toBe(0);
  await using sql = await connectTo(`sqlite:${path}`);
  expect([...(await sql`SELECT value FROM cursor WHERE name = 'newest'`)]).toEqual([{ value: "1" }]);
});

describe.each([...engines])("on %s, a store", (engine) => {
  test("is created once, also by several processes at the same time", async () => {
    const url = await createStore(engine);
    await Promise.all([migrateStore(url), migrateStore(url), migrateStore(url)]);
    await migrateStore(url);
    await using sql = await connectTo(url);
    expect(await sql`SELECT version FROM generation_list`).toHaveLength(1);
    expect(await sql`SELECT fingerprint FROM schema_fingerprint`).toHaveLength(1);
  });

  test("of another version is refused with status 3, and stays as it is", async () => {
    const url = await createMigratedStore(engine);
    await change(url, "UPDATE schema_fingerprint SET fingerprint = 'another'");
    await expectRefused(url);
    await using sql = await connectTo(url);
    expect([...(await sql`SELECT fingerprint FROM schema_fingerprint`)]).toEqual([{ fingerprint: "another" }]);
    expect([...(await sql`SELECT id FROM run`)]).toEqual([]);
  });

  test.each([
    "CREATE TABLE run (id INTEGER)",
    "CREATE TABLE lease (id INTEGER)",
    "CREATE TABLE Product_State (id INTEGER)",
    "CREATE TABLE schema_fingerprint (other INTEGER)",
    "CREATE TABLE schema_fingerprint (other INTEGER); INSERT INTO schema_fingerprint VALUES (1)",
    "CREATE VIEW cursor AS SELECT 1 AS name",
    "CREATE TABLE other (id INTEGER); CREATE INDEX run_by_job ON other (id)",
    "CREATE TABLE generation_1_sku (id INTEGER)",
    ...(engine === "sqlite"
      ? [
          "PRAGMA journal_mode = WAL; CREATE TABLE run (id INTEGER)",
          "CREATE TABLE o (id INTEGER); CREATE TRIGGER change_inserted AFTER INSERT ON o BEGIN SELECT 1;END",
          "CREATE TABLE product_word_data (id INTEGER)",
        ]
      : []),
    ...(engine === "postgres" ? ["CREATE TYPE product AS ENUM ('a')"] : []),
  ])("with one of its names from another program is refused, and stays as it is: %s", async (statements) => {
    const url = await createStore(engine);
    await change(url, statements);
    await expectRefused(url);
  });

  test("is created beside the tables of another program", async () => {
    const url = await createStore(engine);
    await change(url, "CREATE TABLE other (id INTEGER)");
    const { code, stdout } = await pds(["check"], { DATABASE_URL: url });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\(not created yet\) +ok/)]);
    await migrateStore(url);
    await using sql = await connectTo(url);
    expect([...(await sql`SELECT id FROM other`)]).toEqual([]);
  });

  test("of an earlier state is refused with the commands that import its data again", async () => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    await sql`DROP TABLE schema_fingerprint`;
    const { code, stderr } = await pds(["serve"], { DATABASE_URL: url });
    expect(code).toBe(3);
    for (const command of ["pds import products", "pds import personalization"]) expect(stderr).toContain(command);
    await expect(Promise.resolve(sql`SELECT 1 FROM schema_fingerprint`)).rejects.toThrow();
  });

  test("gives no id twice, so that rows of a killed import cannot join a later one", async () => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    const add = async () => {
      const [row] = await sql<{ id: number }[]>`
        INSERT INTO generation (brand, loaded_at) VALUES ('acme', '') RETURNING id`;
      return row?.id ?? 0;
    };
    const first = await add();
    await sql`DELETE FROM generation`;
    expect(await add()).toBeGreaterThan(first);
  });
});
