import { describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { connectTo, createStore, enginesOf, migrateStore, pds, temporaryFolder, writeFiles } from "../support/pds.ts";

// A command that reads creates no store.

const commands = [
  ["jobs"],
  ["history"],
  ["logs", "1"],
  ["brands"],
  ["brands", "remove", "x"],
  ["explain", "sku", "x"],
  ["rollback", "personalization"],
];

const folder = await temporaryFolder();
const [products = ""] = await writeFiles(folder, { "products.json": "[]" });

describe.each([...enginesOf("sqlite")])("on %s", (engine) => {
  const isSqlite = engine === "sqlite";

  /** The tables of the store; for a file also its size, since even an empty database has a page. */
  async function contentOf(url: string): Promise<unknown> {
    const path = url.slice("sqlite:".length);
    if (isSqlite && (!existsSync(path) || statSync(path).size === 0)) return [];
    await using sql = await connectTo(url);
    return isSqlite
      ? [...(await sql`SELECT name FROM sqlite_master`)]
      : [...(await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)];
  }

  test.each(isSqlite ? ["missing", "empty"] : ["empty"])("a store that is %s stays so", async (state) => {
    const DATABASE_URL = await createStore(engine);
    const path = DATABASE_URL.slice("sqlite:".length);
    if (isSqlite && state === "empty") await Bun.write(path, "");
    const stderr = `pds: DATABASE_URL: ${DATABASE_URL} does not exist yet; "pds serve" and the imports create it\n`;
    for (const words of commands) expect(await pds(words, { DATABASE_URL })).toMatchObject({ code: 1, stderr });
    const check = await pds(["check"], { DATABASE_URL });
    expect(check).toMatchObject({ code: 0, stdout: expect.stringMatching(/\(not created yet\) +ok/) });
    expect(await pds(["run", "nothing"], { DATABASE_URL })).toMatchObject({ code: 2 });
    expect(await pds(["import", "products", products, "--dry-run"], { DATABASE_URL })).toMatchObject({ code: 0 });
    expect(await contentOf(DATABASE_URL)).toEqual([]);
    if (state === "missing") expect(existsSync(path)).toBe(false);
  });

  test.if(!isSqlite)("a role without the rights of imports is found by a check", async () => {
    const owned = await createStore(engine);
    await migrateStore(owned);
    await using sql = await connectTo(owned);
    const role = `reader_${Date.now()}`;
    await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    const url = new URL(owned);
    Object.assign(url, { username: role, password: "secret" });
    const checkStore = async () => (await pds(["check"], { DATABASE_URL: `${url}` })).stdout;
    await sql.unsafe(
      `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}; REVOKE USAGE ON SCHEMA public FROM PUBLIC`,
    );
    expect(await checkStore()).toContain(`the role ${role} may not use any schema`);
    await sql.unsafe(`GRANT USAGE ON SCHEMA public TO ${role}`);
    expect(await checkStore()).toContain(`GRANT CREATE ON SCHEMA public TO ${role}`);
    await sql.unsafe(`GRANT CREATE ON SCHEMA public TO ${role}`);
    expect(await checkStore()).toMatch(/the tables belong to the role \S+: use it instead of reader_/);
    const [{ owner }] = await sql`SELECT current_user AS owner`;
    await sql.unsafe(`GRANT "${owner}" TO ${role}`);
    expect(await checkStore()).toMatch(/^store .+ ok$/m);
  });
});

test.each([
  ["be created", "none/store", "this user may not create files in"],
  ["be created behind a link", "link", "it is a link to a file that is not there"],
  ["be written", "store", "this user may not write it; use the user of the service"],
  ["get a journal", "writable", "this user may not create files in"],
])("a check finds that a store cannot %s", async (_, name, message) => {
  const place = await temporaryFolder();
  await migrateStore(`sqlite:${place}/store`);
  // As a restored one has it.
  await using sql = await connectTo(`sqlite:${place}/store`);
  await sql.unsafe("PRAGMA journal_mode = DELETE");
  await sql.close();
  copyFileSync(`${place}/store`, `${place}/writable`);
  symlinkSync(`${place}/none/store`, `${place}/link`);
  chmodSync(`${place}/writable`, 0o666);
  chmodSync(`${place}/store`, 0o444);
  chmodSync(place, 0o555);
  const database = join(import.meta.dir, "../../src/database/index.ts");
  // The administrator may write everything.
  const script = `
    import { inspectStore } from ${JSON.stringify(database)};
    if (process.getuid() === 0) process.setuid(65534);
    await inspectStore("sqlite:${place}/${name}", "DATABASE_URL", {}).catch(({ message }) => console.log(message));`;
  expect(await $`${process.execPath} -e ${script}`.text()).toContain(message);
});

test("the path of an embedded store is always a path", async () => {
  const cwd = await temporaryFolder();
  for (const DATABASE_URL of ["sqlite:file::memory:", "sqlite:sqlite::memory:", "sqlite:file:store"]) {
    expect(await pds(["import", "products", products], { DATABASE_URL }, cwd)).toMatchObject({ code: 0 });
    expect(await pds(["history"], { DATABASE_URL }, cwd)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("catalog-import"),
    });
    expect(existsSync(join(cwd, DATABASE_URL.slice("sqlite:".length)))).toBe(true);
  }
});
