import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { migrateStore, pds, root, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

// The documented role of PostgreSQL does everything that the service and its commands do.

const { url, drop } = await createPostgresDatabase();
const databaseName = new URL(url).pathname.slice(1);
// As of a shop whose name has a hyphen, which only quotes allow.
const role = `role-${databaseName}`;
const quotedRole = `"${role}"`;
const admin = new SQL(url, { max: 1 });
const documented = await Bun.file(join(root, "deploy", "role.sql")).text();
await admin.unsafe(
  documented
    .replaceAll(/\b(DATABASE )"pds"/g, `$1"${databaseName}"`)
    .replaceAll(/\b(ROLE |TO )"pds"/g, `$1${quotedRole}`),
);
afterAll(async () => {
  await admin.unsafe(
    `REVOKE ALL ON DATABASE ${databaseName} FROM ${quotedRole}; DROP OWNED BY ${quotedRole}; DROP ROLE ${quotedRole}`,
  );
  await admin.close();
  await drop();
});

const restricted = new URL(url);
restricted.username = role;
const folder = await temporaryFolder();
const [PDS_CONFIG = ""] = await writeFiles(folder, {
  "pds.toml": `
    [jobs.catalog-import]
    source = ["${root}/sample/products.ndjson"]
    schedule = "@yearly"
    [jobs.personalization-import]
    source = "${root}/sample/personalization"
    schedule = "@yearly"
    [jobs.history-retention]
    schedule = "@yearly"
  `,
});
const environment = { DATABASE_URL: restricted.href, PDS_CONFIG, BRAND: "sample" };

async function succeed(...args: string[]): Promise<void> {
  const { code, stderr } = await pds(args, environment);
  expect({ args, code, stderr: code === 0 ? "" : stderr }).toEqual({ args, code: 0, stderr: "" });
}

const hasData = (readiness: unknown) => (readiness as { checks: { data?: string } }).checks.data === "ok";

test("the documented role creates the store, imports, serves, and removes", async () => {
  await using service = await serve(environment);
  await until("all data is there", async () => (await service.get("/readyz")).json().then(hasData));
  expect((await service.get("/api/v1/products/6781204660224")).status).toBe(200);
  await succeed("import", "personalization", `${root}/sample/personalization`, "--force");
  await succeed("rollback", "personalization");
  await succeed("brands", "remove", "sample");
});

test("commands name the right that the role lacks, instead of taking the store for a new one", async () => {
  await migrateStore(restricted.href);
  const [{ schemas } = { schemas: 0 }] = await admin<{ schemas: number }[]>`
    SELECT CAST(count(*) AS INTEGER) AS schemas FROM pg_namespace`;
  const refuse = async (...args: string[]) => (await pds(args, environment)).stderr;
  const commands = [
    ["history"],
    ["import", "products", `${root}/sample/products.ndjson`],
    ["serve"],
    ["run", "catalog-import"],
  ];
  await admin.unsafe(`REVOKE USAGE ON SCHEMA public FROM ${quotedRole}`);
  for (const args of commands) {
    expect(await refuse(...args)).toEndWith(
      `the role ${quotedRole} may not use any schema of its search_path ("$user", public)\n`,
    );
  }
  await admin.unsafe(`CREATE SCHEMA "New schema"; GRANT USAGE ON SCHEMA "New schema" TO ${quotedRole}`);
  await admin.unsafe(`ALTER ROLE ${quotedRole} SET search_path = "New schema"`);
  for (const args of commands) {
    expect(await refuse(...args)).toEndWith(
      `the role ${quotedRole} may not create tables: GRANT CREATE ON SCHEMA "New schema" TO ${quotedRole}\n`,
    );
  }
  await admin.unsafe(`DROP SCHEMA "New schema"; ALTER ROLE ${quotedRole} RESET search_path`);
  await admin.unsafe(`GRANT USAGE ON SCHEMA public TO ${quotedRole}`);
  await succeed("history");
  expect((await admin`SELECT CAST(count(*) AS INTEGER) AS schemas FROM pg_namespace`)[0]).toEqual({ schemas });
});
