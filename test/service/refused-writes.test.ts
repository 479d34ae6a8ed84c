import { Database as File } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, createMigratedStore, migrateStore, pds, serve, temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";

interface Readiness {
  readonly status: string;
  readonly checks: { readonly writes: string };
}

const postgres = await createMigratedStore("postgres");

/** Makes the database read-only for every connection, or writable again. */
async function setReadOnly(value: "on" | "off"): Promise<void> {
  await using sql = await connectTo(postgres);
  const [{ name } = { name: "" }] = await sql<{ name: string }[]>`SELECT quote_ident(current_database()) AS name`;
  await sql`SET default_transaction_read_only = off`;
  await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
  // Connections keep the setting with which they began.
  if (value === "on")
    await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;
}

test("a store that accepts no writes is named in probe, metrics, console, log, and check, until it does again", async () => {
  const environment = { DATABASE_URL: postgres };
  await using service = await serve(environment);
  const readiness = async () => (await (await service.get("/readyz")).json()) as Readiness;
  const metric = async () =>
    (await (await fetch(`${service.adminUrl}/metrics`)).text()).match(/^pds_store_read_only (\d)$/m)?.[1];
  expect([(await readiness()).checks.writes, await metric()]).toEqual(["ok", "0"]);
  await setReadOnly("on");
  try {
    await until("the probe names it", async () => (await readiness()).checks.writes !== "ok");
    const { status, checks } = await readiness();
    expect([status, (await service.get("/readyz")).status]).toEqual(["degraded", 200]);
    expect(checks.writes).toContain("it accepts no writes: cannot execute INSERT in a read-only transaction");
    expect(await metric()).toBe("1");
    expect(await (await fetch(service.adminUrl)).text()).toContain(
      "The store accepts no writes or is damaged, so jobs fail",
    );
    await until("the log has it", () => service.log().includes('"msg":"the store accepts no writes, or is damaged"'));
    const check = await pds(["check"], environment);
    expect([check.code, check.stdout + check.stderr]).toEqual([
      1,
      expect.stringContaining("its transactions are read-only"),
    ]);
  } finally {
    await setReadOnly("off");
  }
  await until("it accepts writes", async () => (await readiness()).checks.writes === "ok");
  expect(await metric()).toBe("0");
}, 60_000);

// The limit stands for a full disk: only root can have a small one.
test.skipIf(Bun.which("prlimit") === null)(
  "a file that cannot grow is named, too",
  async () => {
    await using service = await serve({ DATABASE_URL: await createMigratedStore("sqlite") });
    const limit = Bun.spawnSync(["prlimit", `--pid=${service.process.pid}`, "--fsize=1024:"]);
    expect(limit.success).toBe(true);
    let writes = "";
    await until("the probe names it", async () => {
      writes = ((await (await service.get("/readyz")).json()) as Readiness).checks.writes;
      return writes !== "ok";
    });
    expect(writes).toContain("cannot grow: its disk is full, or a limit is reached");
  },
  60_000,
);

test("a file that was cut off is named, also to operators, when a request needs what is missing; the rest is served", async () => {
  const url = await createMigratedStore("sqlite");
  const file = url.slice("sqlite:".length);
  {
    using store = new File(file);
    const insert = store.prepare("INSERT INTO product (id, document, tag, visible_from) VALUES (?, ?, ?, ?)");
    for (let id = 1; id <= 200; id++)
      insert.run(id, `{"id":${id},"handle":"${"x".repeat(9000)}"}`, `${id}`, "2026-01-01T00:00:00.000Z");
    store.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  await using service = await serve({ DATABASE_URL: url });
  truncateSync(file, statSync(file).size / 2);
  // It is the first request to find this.
  const page = await fetch(`${service.adminUrl}/products/200`, { headers: { accept: "text/html" } });
  expect([page.status, page.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
  const html = await page.text();
  expect(html).toContain("it is damaged: database disk image is malformed; restore a backup.");
  expect(html).toContain("remove the file, and start the service");
  expect(html).toContain('<a href="/readyz">');
  const { code, stdout } = await pds(["check"], { DATABASE_URL: url });
  expect(stdout).toMatch(/^store .* cannot open .*: it is damaged: .*; if it is the right file, restore a backup$/m);
  expect(code).toBe(1);
  const statuses = [
    (await service.get("/api/v1/products/1")).status,
    (await service.get("/api/v1/products/200")).status,
  ];
  expect(statuses).toEqual([200, 503]);
  await until("the probe names it", async () => {
    const { status, checks } = (await (await service.get("/readyz")).json()) as Readiness;
    return status === "degraded" && checks.writes.includes("it is damaged: database disk image is malformed");
  });
}, 60_000);

test("an index that lacks a row is damage to pds check", async () => {
  const file = join(await temporaryFolder(), "pds.sqlite");
  const url = `sqlite:${file}`;
  await migrateStore(url);
  /** Leaves one product. @returns where the page of its entry in an index is */
  const store = (id: number) => {
    using opened = new File(file);
    opened.run("DELETE FROM product");
    opened.run(
      `INSERT INTO product (id, document, tag, visible_from) VALUES (${id}, '{}', '1', '2026-01-01T00:00:00.000Z')`,
    );
    opened.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const [place] = opened
      .query<{ rootpage: number; page_size: number }, []>(
        "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'product_filter'",
      )
      .all();
    const { rootpage = 0, page_size = 0 } = place ?? {};
    return { start: (rootpage - 1) * page_size, end: rootpage * page_size };
  };
  store(1);
  const before = readFileSync(file);
  const { start, end } = store(2);
  const after = readFileSync(file);
  before.copy(after, start, start, end);
  writeFileSync(file, after);
  const { code, stdout } = await pds(["check"], { DATABASE_URL: url });
  expect(stdout).toMatch(/^store .*: it is damaged: row 1 missing from index product_filter; .*restore a backup$/m);
  expect(code).toBe(1);
});
