import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { appendFile, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { BackupFile } from "../../src/commands/backup-file.ts";
import { Database } from "../../src/database/database.ts";
import { engineOf } from "../../src/database/engines/index.ts";
import { closeDatabase } from "../../src/database/index.ts";
import { migrate } from "../../src/database/migrate.ts";
import { checkArchive, openArchive } from "../../src/database/transfer/read-archive.ts";
import { readStore } from "../../src/database/transfer/read-store.ts";
import { writeArchive } from "../../src/database/transfer/write-archive.ts";
import { ServiceError } from "../../src/errors.ts";
import { toJson } from "../../src/json.ts";
import { toProduct } from "../support/catalog.ts";
import { canMount, pdsOnDisk } from "../support/disk.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  type Engine,
  type Environment,
  engines,
  enginesOf,
  main,
  pds,
  type RunningService,
  runsOnBothEngines,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { startStore } from "../support/s3.ts";
import { until, untilEqual } from "../support/until.ts";

const folder = await temporaryFolder();
const feed = await writeFeed(folder, "feed");
const laterFeed = await writeFeed(folder, "later", {
  ...feedFiles,
  "pzlines.csv": feedFiles["pzlines.csv"].replace("SCRIPT,10,A", "SCRIPT,10,I"),
});
const [products = "", laterProducts = ""] = await writeFiles(folder, {
  // An id that JSON readers round, and a text with all kinds of characters.
  "products.ndjson": [toProduct(1), toProduct(9007199254740993n, { title: "Tab\t, \\N, new\nline, 🎁 é" })]
    .map((product) => `${toJson(product)}\n`)
    .join(""),
  "later.ndjson": toJson(toProduct(1, { title: "Later" })),
});

async function succeed(args: readonly string[], environment: Environment): Promise<string> {
  const { code, stdout, stderr } = await pds(args, environment);
  expect({ args, code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

/** What a service answers about everything that the stores of this file have. */
async function answersOf(service: RunningService): Promise<readonly unknown[]> {
  const paths = ["products/1", "products/9007199254740993", "products/pz/MUG", "products/pz/A%2FB%20%C3%A9%2B"];
  return await Promise.all(
    [...paths, "histories/asc"].map(async (path) => {
      const response = await service.get(`/api/v1/${path}`);
      // A failure quotes its request's reference, which differs each time.
      const body = (await response.text()).replaceAll(response.headers.get("x-request-id") ?? "", "REFERENCE");
      return { path, status: response.status, tag: response.headers.get("etag"), body };
    }),
  );
}

interface Original {
  readonly environment: Environment & { readonly DATABASE_URL: string };
  readonly backup: string;
  readonly answers: readonly unknown[];
}

const originals = {} as Record<Engine, Original>;
for (const engine of engines) {
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
  await succeed(["import", "products", products], environment);
  for (const source of [feed, laterFeed]) await succeed(["import", "personalization", source], environment);
  await using sql = await connectTo(environment.DATABASE_URL);
  const soon = "9999-01-01T00:00:00.000Z";
  await sql`INSERT INTO push_queue (product, deliveries, due_at) VALUES (9007199254740993, 2, ${soon})`;
  await sql`INSERT INTO product_news (id, noted_at) VALUES (9007199254740993, ${soon})`;
  await sql`INSERT INTO product_removal (removed_at, products) VALUES (${soon}, 7)`;
  await sql`INSERT INTO lease (name, holder, ends_at) VALUES ('push', 'one', ${soon})`;
  await sql`UPDATE run SET log = ${"first\nsecond"} WHERE id = 1`;
  // Of processes that go on in the original.
  await sql`INSERT INTO run (job, brand, started_at, lease_until) VALUES ('catalog-sync', 'acme', '', ${soon})`;
  await sql`INSERT INTO generation (brand, loaded_at, state) VALUES ('acme', '', 'loading')`;
  await using service = await serve({ ...environment, SCHEDULER: "off" });
  const backup = join(folder, `${engine}.backup`);
  await succeed(["backup", backup], environment);
  originals[engine] = { environment, backup, answers: await answersOf(service) };
}

async function listRows(url: string, query: string): Promise<unknown[]> {
  await using sql = await connectTo(url);
  return [...(await sql.unsafe(query))];
}

const rowsOf = (url: string, table: string) => listRows(url, `SELECT * FROM ${table} ORDER BY 1`);

describe.each([...engines])("a backup of %s", (from) => {
  const { environment, backup, answers } = originals[from];

  // Into the other engine, and every night into the same one, too.
  const targets = engines.filter((to) => to !== from || runsOnBothEngines);

  describe.each(targets)("restored into %s", async (to) => {
    const restored = { ...environment, DATABASE_URL: await createStore(to), SCHEDULER: "off" };
    const printed = JSON.parse(await succeed(["restore", backup, "--json"], restored));

    test("counts what it restored", () => {
      expect(printed.rows).toEqual({
        ...{ current_generation: 1, cursor: 1, generation: 2, generation_group: 6, generation_sku: 4 },
        ...{ generation_style: 8, product: 2, product_news: 1, product_removal: 1, push_queue: 1, run: 3 },
      });
    });

    test("answers the same, has no rights of processes, and goes on as the original does", async () => {
      {
        await using service = await serve(restored);
        expect(await answersOf(service)).toEqual([...answers]);
      }
      for (const query of [
        "SELECT CAST(product AS TEXT) AS product, deliveries, unread_since, due_at, attempts FROM push_queue",
        "SELECT CAST(id AS TEXT) AS id, updated_at, noted_at, gone_at FROM product_news",
        "SELECT * FROM product_removal",
        "SELECT * FROM cursor ORDER BY name",
      ]) {
        const rows = await listRows(restored.DATABASE_URL, query);
        expect(rows).not.toHaveLength(0);
        expect(rows).toEqual(await listRows(environment.DATABASE_URL, query));
      }
      expect(await rowsOf(restored.DATABASE_URL, "lease")).toEqual([]);
      const runs = (await rowsOf(restored.DATABASE_URL, "run")) as { id: number; log: string | null }[];
      expect(runs.map(({ id, log }) => [id, log])).toEqual([
        [1, "first\nsecond"],
        [2, null],
        [3, null],
      ]);

      // It gives no id of the original again.
      await succeed(["rollback", "personalization"], restored);
      await succeed(["import", "personalization", feed, "--force"], restored);
      const later = (await rowsOf(restored.DATABASE_URL, "run")) as { id: number }[];
      expect(later.map(({ id }) => id)).toEqual([1, 2, 3, 5]);
      const generations = (await rowsOf(restored.DATABASE_URL, "generation")) as { id: number; state: string }[];
      expect(generations.map(({ id }) => id)).toEqual([1, 4]);
    });
  });
});

describe.each([...enginesOf("sqlite")])("on %s", (engine) => {
  const { environment, backup, answers } = originals[engine];

  test("a restore refuses a store that holds data, and replaces it under running replicas when told", async () => {
    const own = { ...environment, DATABASE_URL: await createStore(engine), SCHEDULER: "off" };
    await succeed(["import", "products", laterProducts], own);
    await succeed(["import", "personalization", laterFeed], own);
    await using cached = await serve(own);
    await using uncached = await serve({ ...own, MEMORY_MEGABYTES: "0" });
    const before = await answersOf(cached);
    const refused = await pds(["restore", backup], own);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/holds data .+ use --replace\n$/) });
    expect(await answersOf(cached)).toEqual([...before]);

    await succeed(["restore", backup, "--replace"], own);
    await untilEqual(() => answersOf(cached), [...answers]);
    expect(await answersOf(uncached)).toEqual([...answers]);
    // The replicas go on with the restored store.
    await succeed(["import", "products", laterProducts, "--force"], own);
    const title = async () => (await (await cached.get("/api/v1/products/1")).text()).includes('"Later"');
    await until("the next change is served", title);
  });

  test("a restore waits for a run in progress", async () => {
    const own = { ...environment, DATABASE_URL: await createStore(engine) };
    await succeed(["import", "products", products], own);
    await using sql = await connectTo(own.DATABASE_URL);
    await sql`INSERT INTO run (job, brand, started_at, lease_until)
      VALUES ('catalog-sync', 'busy', '2026-01-01T00:00:00.000Z', '9999-01-01T00:00:00.000Z')`;
    const child = Bun.spawn([process.execPath, main, "restore", backup, "--replace"], {
      env: { PATH: "", PDS_CONFIG: "/dev/null", ...own },
      stdio: ["ignore", "ignore", "pipe"],
    });
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      expect(chunk).toMatch(/^run 2 \(catalog-sync for busy\) is in progress .+ waiting for it\n$/);
      break;
    }
    expect(await sql`SELECT id FROM product WHERE id = 1`).toHaveLength(1);
    await sql`DELETE FROM run WHERE brand = 'busy'`;
    expect(await child.exited).toBe(0);
    expect(await sql`SELECT id FROM generation`).toHaveLength(2);
  });

  test("a restore upgrades the backup of an older version", async () => {
    const url = await createStore(engine);
    const of = engineOf(url);
    const old = new Database(of, "old", await of.open(url, "job", {}));
    await migrate(old, ["2026-11-22-initial"]);
    await old.sql`INSERT INTO product (id, document, tag) VALUES (5, '{}', 'tag')`;
    await old.sql`INSERT INTO cursor (name, value) VALUES ('removals', '[]'), ('shop', 'one')`;
    await closeDatabase(old);
    const path = join(folder, `${engine}-old.backup`);
    await succeed(["backup", path], { DATABASE_URL: url });
    const restored = await createStore(engine);
    await succeed(["restore", path], { DATABASE_URL: restored });
    expect(await rowsOf(restored, "product")).toMatchObject([{ tag: "tag", way: "", read_from: "" }]);
    expect(await rowsOf(restored, "cursor")).toEqual([{ name: "shop", value: "one" }]);
    expect(await rowsOf(restored, "schema_migration")).toHaveLength(of.migrations.length);
  });

  test("a store that a newer version has upgraded is neither backed up nor replaced", async () => {
    const own = { ...environment, DATABASE_URL: await createStore(engine) };
    await succeed(["import", "products", products], own);
    await using sql = await connectTo(own.DATABASE_URL);
    await sql`INSERT INTO schema_migration (name) VALUES ('2999-01-01-later')`;
    for (const args of [
      ["backup", join(folder, "never")],
      ["restore", backup, "--replace"],
    ]) {
      const { code, stderr } = await pds(args, own);
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("2999-01-01-later") });
    }
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  test("a copy continues where one was interrupted, and is the same", async () => {
    const to = await createStore(engine);
    const other = engines.find((each) => each !== engine) ?? engine;
    const { environment: source, answers: expected } = originals[other];
    const broken = await createBrokenSource(source.DATABASE_URL, other);
    const args = ["copy", "--to", to, "--from"];
    const failed = await pds([...args, broken.url], {});
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("product") });
    await broken.repair();
    const copied = await succeed([...args, broken.url], {});
    expect(copied).toContain("generation_sku 4");
    await using service = await serve({ ...source, DATABASE_URL: to, SCHEDULER: "off" });
    expect(await answersOf(service)).toEqual([...expected]);
    const again = await pds([...args, broken.url], {});
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("use --replace") });
  });
});

/** A copy of a store whose products cannot be read. */
async function createBrokenSource(url: string, engine: Engine) {
  const copy = await createStore(engine);
  await succeed(["copy", "--from", url, "--to", copy], {});
  const rename = async (from: string, to: string) => {
    await using sql = await connectTo(copy);
    await sql.unsafe(`ALTER TABLE product RENAME COLUMN ${from} TO ${to}`);
  };
  await rename("way", "product_way");
  return { url: copy, repair: () => rename("product_way", "way") };
}

describe("a file that is not a whole backup", async () => {
  const { environment, backup } = originals.sqlite;
  const whole = await readFile(backup);
  const damaged = join(folder, "damaged.backup");
  const url = `sqlite:${join(folder, "unborn.sqlite")}`;

  const changed = (at: number) => {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
  };
  const middle = Math.floor(whole.length / 2);
  test.each([
    ["is empty", Buffer.alloc(0), /damaged\.backup: is not a backup\n$/],
    ["is something else", Buffer.from("SQLite format 3\0"), /damaged\.backup: is not a backup\n$/],
    ["has a later format", Buffer.from("pds backup 2\n"), /a newer version made this backup/],
    ["ends early", whole.subarray(0, middle), /the backup is damaged: it ends after \d+ bytes/],
    ["lacks its last byte", whole.subarray(0, -1), /the backup is damaged: it ends after \d+ bytes/],
    ["goes on", Buffer.concat([whole, Buffer.from("x")]), /the backup is damaged: 1 bytes follow its end/],
    ["has a changed byte in the middle", changed(middle), /the backup is damaged: .+ (checksum|within the block)/],
    ["has a changed byte in its checksum", changed(whole.length - 1), /the backup is damaged: .+ checksum/],
    ["has a changed length", changed("pds backup 1\n".length + 1), /the backup is damaged: .+(checksum|within)/],
  ])("is refused when it %s, and nothing is created", async (_, bytes, message) => {
    await writeFile(damaged, bytes);
    const { code, stderr } = await pds(["restore", damaged], { ...environment, DATABASE_URL: url });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    expect(existsSync(join(folder, "unborn.sqlite"))).toBe(false);
  });
});

test("a file that may not be read is one sentence", () => {
  const path = join(folder, "absent");
  const refused = new ServiceError("unavailable", `cannot read it: ENOENT: no such file or directory, open '${path}'`);
  expect(() => openArchive(path, "it")).toThrow(refused);
});

describe("pds backup", () => {
  const { environment, backup } = originals.sqlite;

  test("of two processes that write the same file, the later wins, and the earlier fails", async () => {
    const path = join(await temporaryFolder(), "nightly");
    using earlier = new BackupFile(path);
    earlier.write(Buffer.from("earlier"));
    earlier.flush();
    {
      using later = new BackupFile(path);
      later.write(Buffer.from("later"));
      expect(() => earlier.publish()).toThrow(`cannot write ${path}: another backup to it has begun meanwhile`);
      earlier[Symbol.dispose]();
      later.flush();
      later.publish();
    }
    expect(readFileSync(path, "utf8")).toBe("later");
    // One that waits for the store has not begun.
    using waiting = new BackupFile(join(path, "..", "other"));
    expect(existsSync(waiting.path)).toBe(false);
  });

  test("follows a symbolic link, and neither the link nor the rights of a file that a killed one left", async () => {
    const own = await temporaryFolder();
    const [real, link, absent, dangling, other] = ["real", "link", "absent", "dangling", "other"].map((name) =>
      join(own, name),
    ) as [string, string, string, string, string];
    await writeFile(real, readFileSync(backup));
    await symlink("real", link);
    await symlink("absent", dangling);
    await writeFile(other, "notes");
    await symlink(other, `${real}.partial`);
    await writeFile(`${absent}.partial`, "left", { mode: 0o666 });
    for (const path of [link, dangling]) {
      using file = new BackupFile(path);
      file.write(Buffer.from("new"));
      file.publish();
    }
    expect([real, absent, other].map((path) => readFileSync(path, "utf8"))).toEqual(["new", "new", "notes"]);
    expect([link, dangling].map((path) => lstatSync(path).isSymbolicLink())).toEqual([true, true]);
    expect(statSync(absent).mode & 0o777).toBe(0o600);
  });

  test("a signal is noticed between two parts of an embedded store, and of a file", async () => {
    const large = await createStore("sqlite");
    await succeed(["restore", backup], { ...environment, DATABASE_URL: large });
    await using sql = await connectTo(large);
    await sql`UPDATE run SET log = ${crypto.getRandomValues(Buffer.alloc(2 ** 19)).toString("base64")}`;
    const stream = await readStore(large);
    const path = join(await temporaryFolder(), "large");
    using file = new BackupFile(path);
    let turns = 0;
    const turn = () => setImmediate(() => turns++);
    turn();
    await writeArchive(stream, (bytes) => file.write(bytes), turn);
    await stream.close();
    expect(turns).toBeGreaterThan(0);
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error("stopped by SIGINT")));
    await expect(checkArchive(file.path, path, stop.signal)).rejects.toThrow("stopped by SIGINT");
  });

  test("replaces an earlier backup, but no other file, and leaves nothing else", async () => {
    const own = await temporaryFolder();
    const path = join(own, "nightly");
    await writeFile(path, readFileSync(backup));
    truncateSync(path, 1000);
    const { bytes, sha256 } = JSON.parse(await succeed(["backup", path, "--json"], environment));
    const content = await readFile(path);
    expect(content.length).toBe(bytes);
    // As sha256sum would compute it.
    expect(new Bun.CryptoHasher("sha256").update(content.subarray(0, -32)).digest("hex")).toBe(sha256);
    expect(readdirSync(own)).toEqual(["nightly"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);

    await appendFile(join(own, "notes.txt"), "notes");
    const refused = await pds(["backup", join(own, "notes.txt")], environment);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("exists and is not a backup") });
    expect(await readFile(join(own, "notes.txt"), "utf8")).toBe("notes");
    expect(readdirSync(own).toSorted()).toEqual(["nightly", "notes.txt"]);
  });

  test.each([
    [["backup"], 2, "expected FILE|s3://BUCKET/KEY"],
    [["backup", "/dev/full/x"], 1, "cannot write /dev/full/x: "],
    [["backup", "s3://bucket/key"], 2, "s3://bucket/key: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY"],
    [["backup", ""], 2, "backup: expected the name of a file"],
    [["restore", folder], 2, "not a regular file"],
    [["restore", "/dev/null/x"], 2, "/dev/null/x: ENOTDIR: not a directory"],
    [["backup", "s3://bucket"], 2, "expected s3://BUCKET/KEY"],
    [["backup", "ftp://host/x"], 2, "expected s3://BUCKET/KEY"],
    [["restore", join(folder, "absent")], 2, "no such file"],
    [["copy"], 2, "expected --to URL"],
    [["copy", "--to", "mysql://x"], 2, "--to: expected sqlite:PATH or postgres://"],
    [["copy", "--to", environment.DATABASE_URL], 2, "the same store"],
    [["copy", "--from", "sqlite:/absent/x", "--to", "sqlite:/absent/y"], 1, "sqlite:/absent/x does not exist"],
  ])("says what is wrong with %j", async (args, status, message) => {
    const { code, stderr } = await pds(args, environment);
    expect({ code, stderr }).toMatchObject({ code: status, stderr: expect.stringContaining(message) });
  });

  test("does not create a store", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "absent.sqlite")}`;
    const { code, stderr } = await pds(["backup", join(folder, "x")], { DATABASE_URL });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("does not exist yet") });
    expect(existsSync(join(folder, "absent.sqlite"))).toBe(false);
  });
});

test("a server that ends the connection of a backup or restore is one sentence", async () => {
  const DATABASE_URL = await createMigratedStore("postgres");
  const own = join(await temporaryFolder(), "nightly");
  await succeed(["backup", own], { DATABASE_URL });
  await using sql = new SQL(DATABASE_URL, { max: 1 });
  await sql`BEGIN`;
  // A backup reads this one last, and a restore replaces all of them.
  await sql`LOCK TABLE audit_record`;
  for (const args of [
    ["backup", own],
    ["restore", own],
  ]) {
    const running = pds(args, { DATABASE_URL });
    await until("its connection waits and is ended", async () => {
      const ended = await sql`
        SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE NOT granted AND relation IS NOT NULL
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      return ended.length > 0;
    });
    const { code, stderr } = await running;
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/^pds: .+\n$/) });
    expect(stderr).not.toContain("LOG_LEVEL");
  }
});

test.if(canMount)("a full disk is one sentence, and leaves nothing", async () => {
  const own = { ...originals.sqlite.environment, DATABASE_URL: await createStore("sqlite") };
  await succeed(["restore", originals.sqlite.backup], own);
  await using sql = await connectTo(own.DATABASE_URL);
  await sql`UPDATE run SET log = ${crypto.getRandomValues(Buffer.alloc(2 ** 20)).toString("base64")} WHERE id = 1`;
  const disk = await temporaryFolder();
  const onDisk = { folder: disk, size: "1m", after: `ls -A ${disk}` };
  const { code, stdout, stderr } = await pdsOnDisk(onDisk, ["backup", join(disk, "nightly")], own);
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: "",
    stderr: `pds: cannot write ${disk}/nightly: no space left on the disk (ENOSPC)\n`,
  });
  await succeed(["backup", join(folder, "large")], own);
  const restored = { ...own, DATABASE_URL: `sqlite:${join(disk, "pds.sqlite")}` };
  const refused = await pdsOnDisk({ ...onDisk, size: "3m" }, ["restore", join(folder, "large")], restored);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/ has \d MB left, and this needs up to 5 MB /),
  });
});

test("an interrupted upload exits with 130 and leaves nothing", async () => {
  using store = await startStore();
  const own = await temporaryFolder();
  store.intercept = () => true;
  const child = Bun.spawn([process.execPath, main, "backup", "s3://backups/nightly"], {
    env: { PATH: "", PDS_CONFIG: "/dev/null", ...originals.sqlite.environment, ...store.environment, TMPDIR: own },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await until("it uploads", () => store.requests.length > 0);
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  expect(readdirSync(own)).toEqual([]);
});

test("a backup goes to a bucket and comes back", async () => {
  using store = await startStore();
  const own = await temporaryFolder();
  const environment = { ...originals.sqlite.environment, ...store.environment, TMPDIR: own };
  const address = "s3://backups/nightly/a b";
  const printed = await succeed(["backup", address], environment);
  expect(printed).toContain("product 2");
  const stored = store.objects.get("backups/nightly/a b");
  expect(Buffer.from(stored?.content ?? "").toString("latin1")).toStartWith("pds backup 1\n");
  const DATABASE_URL = await createStore("postgres");
  expect(await succeed(["restore", address], { ...environment, DATABASE_URL })).toContain("product 2");
  expect(readdirSync(own)).toEqual([]);

  store.objects.set("backups/nightly/a b", { content: "pds backup 1\n" });
  const damaged = await pds(["restore", address, "--replace"], { ...environment, DATABASE_URL });
  expect(damaged).toMatchObject({ code: 1, stderr: expect.stringContaining(`${address}: the backup is damaged`) });
  const absent = await pds(["restore", "s3://backups/absent"], environment);
  expect(absent).toMatchObject({ code: 1, stderr: expect.stringMatching(/^pds: s3:\/\/backups\/absent: NoSuchKey/) });
  const denied = await pds(["backup", address], { ...environment, S3_ACCESS_KEY_ID: "other" });
  expect(denied.stderr).not.toContain(store.environment.S3_SECRET_ACCESS_KEY);
  expect(denied).toMatchObject({ code: 1, stderr: expect.stringContaining("InvalidAccessKeyId") });
  store.intercept = (_, response) => {
    response.writeHead(500).end("<Error><Code>Broken</Code><Message>\x1b[31mred</Message></Error>");
    return true;
  };
  const broken = await pds(["restore", address], { ...environment, DATABASE_URL });
  expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining("Broken: \\u001b[31mred") });
  expect(readdirSync(own)).toEqual([]);
});
