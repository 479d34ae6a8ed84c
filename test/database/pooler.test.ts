import { expect, test } from "bun:test";
import { connectTo, createMigratedStore, pds } from "../support/pds.ts";
import { pgbouncer, startPooler } from "../support/pooler.ts";
import { startService } from "../support/service-process.ts";

const url = await createMigratedStore("postgres");

test("a role without limits is reported when requests go through a pooler", async () => {
  await using sql = await connectTo(url);
  const role = `pooled_${crypto.randomUUID().replaceAll("-", "")}`;
  await sql.unsafe(`CREATE ROLE ${role} LOGIN; GRANT pds TO ${role}; ALTER ROLE ${role} SET lock_timeout = '5s'`);
  const pooled = new URL(url);
  pooled.username = role;
  await using service = await startService({ DATABASE_URL: pooled.href, DATABASE_DIRECT_URL: url });
  expect(service.log()).toContain(`the role ${role} has no idle_in_transaction_session_timeout`);
  expect(service.log()).toContain(`the role ${role} has no statement_timeout`);
  expect(service.log()).not.toContain(`the role ${role} has no lock_timeout`);
  await service.end("SIGTERM");
  await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});

test("a pooler that leads to another database stops the start", async () => {
  const other = await createMigratedStore("postgres");
  const environment = { DATABASE_URL: other, DATABASE_DIRECT_URL: url, PORT: "0", ADMIN_PORT: "0" };
  const { code, stderr } = await pds(["serve"], environment);
  expect(code).toBe(1);
  expect(stderr).toContain(
    `DATABASE_URL leads to the schema public of the database ${new URL(other).pathname.slice(1)}`,
  );
});

test.skipIf(pgbouncer === null)("a pooler that is used for everything is named at the start", async () => {
  const pooler = await startPooler(url);
  const { code, stderr } = await pds(["serve"], { DATABASE_URL: pooler.url, PORT: "0", ADMIN_PORT: "0" });
  expect(code).toBe(1);
  expect(stderr).toContain("; behind a pooler, set DATABASE_DIRECT_URL to the server");
});

test("each process has as many connections as it may have", async () => {
  const store = await createMigratedStore("postgres");
  await using sql = await connectTo(store);
  const count = async () => {
    const [row] = await sql<{ count: number }[]>`
      SELECT CAST(count(*) AS INTEGER) AS count FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    return row?.count ?? 0;
  };
  for (const [connections, expected] of [
    [undefined, 4],
    ["4", 4],
    ["5", 5],
    ["9", 9],
  ] as const) {
    await using service = await startService({ DATABASE_URL: store, DATABASE_CONNECTIONS: connections });
    // Everything that the process does at once.
    const paths = ["/", "/runs", "/products", "/metrics", "/readyz"];
    const pages = paths.flatMap((path) => [`${service.adminUrl}${path}`, `${service.adminUrl}${path}`]);
    const skus = Array.from({ length: 50 }, (_, index) => `${service.url}/api/v1/products/pz/SKU${index}`);
    const responses = await Promise.all([...pages, ...skus].map((page) => fetch(page)));
    expect(responses.filter(({ ok }) => !ok)).toEqual([]);
    expect([connections, await count()]).toEqual([connections, expected]);
    await service.end("SIGTERM");
  }
});
