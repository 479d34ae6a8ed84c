import { describe, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { giveName } from "../../src/commands/backup.ts";
import { toProduct } from "../support/catalog.ts";
import { dataOf, jsonOf } from "../support/command-output.ts";
import { canMount, pdsOnDisk } from "../support/disk.ts";
import { writeFeed } from "../support/feed.ts";
import {
  connectTo,
  createMigratedStore,
  pds,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { until } from "../support/until.ts";

const paths = ["products/1", "products/pz/MUG", "products/pz/A%2FB%20%C3%A9%2B", "histories/asc"];

/** What a service answers about everything that the stores of this file have. */
const answersOf = (service: RunningService) =>
  Promise.all(
    paths.map(async (path) => {
      const response = await service.get(`/api/v1/${path}`);
      return [path, response.status, response.headers.get("etag"), await response.text()];
    }),
  );

async function createFilled() {
  const folder = await temporaryFolder();
  const path = join(folder, "pds.sqlite");
  const environment = { DATABASE_URL: `sqlite:${path}`, BRAND: "acme", SCHEDULER: "off" };
  const importProduct = async (title: string) => {
    const [products = ""] = await writeFiles(folder, { "products.ndjson": toJson(toProduct(1, { title })) });
    await dataOf(["import", "products", products], environment);
  };
  await importProduct("Before");
  await dataOf(["import", "personalization", await writeFeed(folder, "feed")], environment);
  return { folder, path, environment, importProduct };
}

const filled = await createFilled();

const reported = /^pds: .*damaged\.sqlite: it is damaged: .*; restore a backup\n$/;

function overwriteEnd(path: string, size: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(8192, 255), 0, 8192, size - 8192);
  closeSync(file);
}

describe("pds backup", () => {
  test("copies the store of a running service, without the rights of processes and browsers", async () => {
    const { folder, environment } = filled;
    await using service = await serve(environment);
    await using sql = await connectTo(environment.DATABASE_URL);
    const soon = "9999-01-01T00:00:00.000Z";
    await sql`INSERT INTO lease (name, holder, ends_at) VALUES ('push', 'one', ${soon})`;
    await sql`INSERT INTO operator_session (id, operator, proof, expires_at) VALUES ('a', 'ann', 'proof', ${soon})`;
    await sql`INSERT INTO purge_target (name, state) VALUES ('cdn', '{}')`;
    const backup = join(folder, "nightly.backup");
    const printed = await jsonOf(["backup", backup], environment);
    expect(printed).toEqual({ backup, bytes: statSync(backup).size });
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.startsWith("nightly"))).toEqual(["nightly.backup"]);

    await using copied = await serve({ ...environment, DATABASE_URL: `sqlite:${backup}` });
    expect(await answersOf(copied)).toEqual(await answersOf(service));
    await using copy = await connectTo(`sqlite:${backup}`);
    for (const table of ["lease", "operator_session", "purge_target"]) {
      expect([table, [...(await copy.unsafe(`SELECT * FROM ${table}`))]]).toEqual([table, []]);
      expect([...(await sql.unsafe(`SELECT * FROM ${table}`))]).toHaveLength(1);
    }
  });

  test("refuses a name that exists, such as that of the store, and what is no file", async () => {
    const { folder, path, environment } = filled;
    writeFileSync(join(folder, "taken.partial"), "");
    symlinkSync(join(folder, "not-mounted"), join(folder, "link"));
    for (const [name, message] of [
      [path, `${path} exists; choose another name`],
      ["", "expected the name of a file"],
      [`${join(folder, "new")}/`, "expected the name of a file"],
      [`${path}-journal`, "may be taken for a part of another file"],
      ["s3://bucket/nightly", "expected a file, not the URL s3://bucket/nightly"],
      [join(folder, "link"), "link exists; choose another name"],
      [join(folder, "taken"), "taken.partial exists: another backup is in progress, or was killed"],
      [join(folder, "missing", "nightly"), `cannot write ${join(folder, "missing", "nightly")}: ENOENT`],
    ] as const) {
      const { code, stdout, stderr } = await pds(["backup", name], environment);
      expect([name, code === 0, stdout]).toEqual([name, false, ""]);
      expect(stderr).toStartWith("pds: backup: ");
      expect(stderr).toContain(message);
    }
    // It belongs to another process.
    expect(existsSync(join(folder, "taken.partial"))).toBe(true);
    expect(existsSync(join(folder, "taken"))).toBe(false);
  });

  test.each(["-journal", "-wal", "-shm"])(
    "is not written where a file ends in %s that would be taken for its part",
    async (end) => {
      const folder = await temporaryFolder();
      const target = join(folder, "backup");
      await writeFiles(folder, { [`backup${end}`]: "another's" });
      const { code, stderr } = await pds(["backup", target], filled.environment);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${target}${end} exists; choose another name`)]);
      expect(readdirSync(folder)).toEqual([`backup${end}`]);
    },
  );

  test("points to the tools of a server", async () => {
    const { folder } = filled;
    const environment = { DATABASE_URL: await createMigratedStore("postgres") };
    const { code, stderr } = await pds(["backup", join(folder, "server.backup")], environment);
    expect([code, stderr]).toEqual([
      2,
      "pds: backup: DATABASE_URL is a server, which has its own tools; the guide has their commands\n",
    ]);
  });

  test.each<[string, (file: string, size: number) => void, RegExp]>([
    ["cut off", (file, size) => truncateSync(file, size - 8192), /cannot open .* malformed; .*restore a backup\n$/],
    ["cut off by 100 bytes", (file, size) => truncateSync(file, size - 100), reported],
    ["overwritten", overwriteEnd, reported],
  ])("leaves nothing of a store that is %s", async (_, damage, reason) => {
    const { folder, path } = filled;
    const damaged = join(folder, "damaged.sqlite");
    await copyFile(path, damaged);
    damage(damaged, statSync(damaged).size);
    const { code, stderr } = await pds(["backup", join(folder, "never")], { DATABASE_URL: `sqlite:${damaged}` });
    expect([code, stderr]).toEqual([1, expect.stringMatching(reason)]);
    expect(readdirSync(folder).filter((name) => name.startsWith("never"))).toEqual([]);
  });

  test("does not replace a file that appears while it copies", async () => {
    const folder = await temporaryFolder();
    const [partial = "", path = ""] = await writeFiles(folder, { "a.partial": "copy", a: "other" });
    expect(() => giveName(partial, path)).toThrow(`backup: ${path} exists; choose another name`);
    expect(readFileSync(path, "utf8")).toBe("other");
  });

  test("writes a file whose name begins with a space, and no other", async () => {
    const { environment } = filled;
    const folder = await temporaryFolder();
    const { code } = await pds(["backup", "--", " spaced"], environment, folder);
    expect([code, readdirSync(folder)]).toEqual([0, [" spaced"]]);
    await using copy = await connectTo(`sqlite:${join(folder, " spaced")}`);
    expect([...(await copy`SELECT id FROM product`)]).toHaveLength(1);
  });

  test("does not read what one that was killed left", async () => {
    const { folder, environment } = filled;
    const journal = join(folder, "again.partial-journal");
    writeFileSync(journal, "left");
    await dataOf(["backup", join(folder, "again")], environment);
    expect(existsSync(journal)).toBe(false);
  });

  test.if(canMount).each(["64k", "256k"])("leaves nothing on a full disk of %s", async (size) => {
    const disk = await temporaryFolder();
    const onDisk = { folder: disk, size, after: `ls -A ${disk}` };
    const { code, stdout, stderr } = await pdsOnDisk(onDisk, ["backup", join(disk, "nightly")], filled.environment);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^pds: backup: cannot write .*nightly: .*(full|disk I\/O error)/);
  });
});

test("of two backups to one file at once, one writes it, and the other touches nothing of it", async () => {
  const { folder, environment } = filled;
  const backup = join(folder, "both.backup");
  const both = await Promise.all([pds(["backup", backup], environment), pds(["backup", backup], environment)]);
  expect(both.filter(({ code }) => code === 0)).toHaveLength(1);
  await using copied = await serve({ ...environment, DATABASE_URL: `sqlite:${backup}` });
  expect((await copied.get("/api/v1/products/1")).status).toBe(200);
});

test("a copy that is put back is served by all replicas, and everything is purged from the CDN", async () => {
  const { folder, path, environment, importProduct } = await createFilled();
  const provider = startPurgeProvider("varnish");
  const [config = ""] = await writeFiles(folder, { "pds.toml": `[purge]\nurl = "${provider.url}"\n` });
  const start = () => serve({ ...environment, PDS_CONFIG: config, CDN: "varnish" });
  const isPurged = (kind: string) => provider.purges.some(({ tags }) => tags.includes(kind));
  const titleAt = async (service: RunningService) =>
    ((await (await service.get("/api/v1/products/1")).json()) as { product: { title: string } }).product.title;

  const before = [await start(), await start()];
  await until("the CDN is purged at first", () => isPurged("product"));
  await dataOf(["backup", join(folder, "nightly.backup")], environment);
  await importProduct("After");
  for (const service of before) await until("it serves the change", async () => (await titleAt(service)) === "After");
  await until(
    "the change is purged twice",
    () => provider.purges.filter(({ tags }) => tags.includes("product-1")).length > 1,
  );
  await Promise.all(before.map((service) => service.stop()));

  for (const end of ["", "-wal", "-shm"]) await rm(`${path}${end}`, { force: true });
  await copyFile(join(folder, "nightly.backup"), path);
  provider.purges.length = 0;
  const after = [await start(), await start()];
  expect(await Promise.all(after.map(titleAt))).toEqual(["Before", "Before"]);
  await until("everything is purged", () => isPurged("product") && isPurged("personalization"));
  await importProduct("Later");
  for (const service of after) await until("it serves changes", async () => (await titleAt(service)) === "Later");
  await Promise.all(after.map((service) => service.stop()));
});
