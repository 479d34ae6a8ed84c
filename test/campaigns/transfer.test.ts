import { describe, expect, test } from "bun:test";
import { createReadStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { engineOf } from "../../src/database/engines/index.ts";
import { removeMarkedGenerations } from "../../src/database/generation-removal.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { readStore } from "../../src/database/transfer/read-store.ts";
import { keptTables, leftTables } from "../../src/database/transfer/tables.ts";
import { openObject } from "../../src/feed/bucket-object.ts";
import { cleanUp } from "../support/clean-up.ts";
import { writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import { connectTo, createMigratedStore, createStore, engines, main, pds, temporaryFolder } from "../support/pds.ts";
import { startStore } from "../support/s3.ts";
import { until } from "../support/until.ts";

const folder = await temporaryFolder();

describe.each([...engines])("a copy of a store on %s", (engine) => {
  test("leaves no table out by mistake", async () => {
    await using sql = await connectTo(await createMigratedStore(engine));
    const query =
      engine === "sqlite"
        ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'product_word%'"
        : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()";
    const rows = await sql.unsafe<{ name: string }[]>(query);
    const known = [...keptTables.map(({ name }) => name), ...leftTables];
    expect(rows.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
  });

  test.if(engine === "postgres")("outlasts minutes in which the other side builds indexes", async () => {
    const snapshot = await engineOf("postgres:").transfer.openSnapshot(await createStore(engine), false);
    const [idle] = await snapshot.all("SHOW idle_in_transaction_session_timeout");
    await snapshot.close();
    expect(idle).toEqual({ idle_in_transaction_session_timeout: "10min" });
  });

  test.if(engine === "postgres")("says that its connection was lost", async () => {
    const url = await createMigratedStore(engine);
    const stream = await readStore(url);
    cleanUp(stream.close);
    await using sql = await connectTo(url);
    const others = () => sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
    await until("it is lost", async () => (await others()).length === 0);
    const read = async () => {
      for await (const _ of stream.chunks());
    };
    await expect(read()).rejects.toThrow(/^cannot read postgres:.*: .*connection/i);
  });

  test("is of one moment, and holds up no writer", async () => {
    const DATABASE_URL = await createStore(engine);
    const feed = await writeFeed(folder, "feed");
    const importFeed = () => pds(["import", "personalization", feed, "--force"], { DATABASE_URL });
    expect((await importFeed()).code).toBe(0);
    const stream = await readStore(DATABASE_URL);
    try {
      const database = await openDatabase(DATABASE_URL);
      try {
        // The third import removes the first generation.
        for (let count = 0; count < 3; count++) expect(await importFeed()).toMatchObject({ code: 0 });
        await database.sql`DELETE FROM run`;
        const rows = new Map<string, number>();
        for await (const chunk of stream.chunks()) rows.set(chunk.table, chunk.rows);
        expect(Object.fromEntries(rows)).toEqual({
          ...{ generation_1_style: 4, generation_1_group: 3, generation_1_sku: 2 },
          ...{ generation: 1, current_generation: 1, run: 1 },
        });
        await stream.close();
        await removeMarkedGenerations(database, "Larkspur & Finch");
      } finally {
        await closeDatabase(database);
      }
      expect((await importFeed()).code).toBe(0);
      await using sql = await connectTo(DATABASE_URL);
      const ids = await sql<{ id: number }[]>`SELECT id FROM generation ORDER BY id`;
      expect(ids.map(({ id }) => id)).not.toContain(1);
      expect(await listGenerationTables(sql)).toHaveLength(3 * ids.length);
    } finally {
      await stream.close();
    }
  });
});

/** Leads to a server. @returns its URL, and what each connection has sent, round trip by round trip */
async function recordRoundTrips(serverUrl: string) {
  const target = new URL(serverUrl);
  const connections: string[][] = [];
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const sent: string[] = [];
    connections.push(sent);
    client.on("data", (chunk) => sent.push(`${chunk}`));
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  cleanUp(() => proxy.close());
  const url = new URL(serverUrl);
  url.port = `${(proxy.address() as AddressInfo).port}`;
  return { url: url.href, connections };
}

test("a restore locks the store for a few statements, and not while it waits for a run", async () => {
  const DATABASE_URL = await createStore("postgres");
  const backup = join(folder, "locks.backup");
  const feed = await writeFeed(folder, "feed");
  for (const args of [
    ["import", "personalization", feed],
    ["backup", backup],
  ]) {
    expect(await pds(args, { DATABASE_URL })).toMatchObject({ code: 0 });
  }
  await using sql = await connectTo(DATABASE_URL);
  await sql`INSERT INTO run (job, brand, started_at, lease_until)
    VALUES ('catalog-sync', 'busy', '2026-01-01T00:00:00.000Z', '9999-01-01T00:00:00.000Z')`;
  const { url, connections } = await recordRoundTrips(DATABASE_URL);
  const restore = Bun.spawn([process.execPath, main, "restore", backup, "--replace"], {
    env: { PATH: "", PDS_CONFIG: "/dev/null", DATABASE_URL: url },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const says = restore.stderr.pipeThrough(new TextDecoderStream()).getReader();
  expect((await says.read()).value).toContain("waiting for it");
  await sql`DELETE FROM run WHERE brand = 'busy'`;
  expect(await restore.exited).toBe(0);

  const locks = connections.flatMap((sent) => sent.filter((text) => text.includes("LOCK TABLE")));
  expect(locks).toHaveLength(1);
  const sent = connections.find((each) => each.includes(locks[0] ?? "")) ?? [];
  const after = sent.slice(sent.lastIndexOf(locks[0] ?? "") + 1);
  const locked = after.slice(
    0,
    after.findIndex((text) => text.includes("COMMIT")),
  );
  // All requests wait meanwhile for a process that has the lowest priority, and may be far away.
  expect(locked.length).toBeGreaterThan(0);
  expect(locked.length).toBeLessThan(20);
});

test("a restore replaces a store whose schema has the longest possible name", async () => {
  const DATABASE_URL = await createStore("postgres");
  const schema = `${"é".repeat(30)}"x'`;
  expect(Buffer.byteLength(schema)).toBe(63);
  const quoted = `"${schema.replace('"', '""')}"`;
  {
    await using sql = await connectTo(DATABASE_URL);
    const database = new URL(DATABASE_URL).pathname.slice(1);
    await sql.unsafe(`CREATE SCHEMA ${quoted}`);
    await sql.unsafe(`ALTER DATABASE "${database}" SET search_path = ${quoted}`);
  }
  const backup = join(folder, "schema.backup");
  const feed = await writeFeed(folder, "feed");
  for (const args of [
    ["import", "personalization", feed],
    ["backup", backup],
    ["restore", backup, "--replace"],
  ]) {
    expect(await pds(args, { DATABASE_URL })).toMatchObject({ code: 0 });
  }
  await using sql = await connectTo(DATABASE_URL);
  expect((await sql`SELECT current_schema() AS schema FROM current_generation`)[0]).toEqual({ schema });
  expect(await sql`SELECT nspname FROM pg_namespace WHERE nspname ~ '_restore$'`).toHaveLength(0);
});

test("a large object is uploaded in parts, and comes back", async () => {
  using store = await startStore();
  const { S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = store.environment;
  const object = openObject(
    "s3://bucket/large",
    {
      allowedLinkLocal: [],
      s3Endpoint: `${S3_ENDPOINT}`,
      s3Region: `${S3_REGION}`,
      s3AccessKeyId: `${S3_ACCESS_KEY_ID}`,
      s3SecretAccessKey: S3_SECRET_ACCESS_KEY,
    },
    new AbortController().signal,
  );
  const content = crypto.getRandomValues(new Uint8Array(65_536));
  const path = join(folder, "large");
  await writeFile(path, Buffer.concat(Array.from({ length: 300 }, () => content)));
  await object.upload(path);
  expect(store.requests.filter((request) => request.includes("partNumber=")).length).toBeGreaterThan(2);
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of createReadStream(path)) hasher.update(chunk);
  expect(await object.hash()).toBe(hasher.digest("hex"));
  await object.download(join(folder, "back"));
  expect((await readFile(join(folder, "back"))).equals(await readFile(path))).toBe(true);

  // The store refuses one part.
  store.intercept = ({ url }, response) => {
    if (!url?.includes("partNumber=2")) return false;
    response.writeHead(403).end("<Error><Code>AccessDenied</Code><Message>no</Message></Error>");
    return true;
  };
  await expect(object.upload(path)).rejects.toThrow(/^s3:\/\/bucket\/large: AccessDenied/);
});
