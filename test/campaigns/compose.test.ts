import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { $, SQL } from "bun";
import { copyComposeFiles } from "../support/compose.ts";
import { findFreePort } from "../support/free-port.ts";
import { pds, type RunningService, root, serve, temporaryFolder } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { startVarnishWith, varnishd } from "../support/varnish.ts";

// What the Compose files start, without containers: their settings, scripts, and configuration of
// Varnish, at addresses of this machine.

const files = await copyComposeFiles();
await $`./prepare replicas && ./prepare shops`.cwd(files).quiet();
const inFiles = (...path: string[]) => join(files, ...path);

/** Replaces each text, which must be there, in a file. */
async function replaceIn(path: string, replacements: Readonly<Record<string, string>>): Promise<string> {
  let text = await readFile(path, "utf8");
  for (const [before, after] of Object.entries(replacements)) {
    expect(text).toContain(before);
    text = text.replaceAll(before, after);
  }
  return text;
}

const productPath = "/api/v1/products/6781204660224";
const docker = Bun.which("docker-compose");

test.skipIf(docker === null).each(["embedded", "replicas", "shops"])("Compose accepts the file %s", async (name) => {
  const { exitCode, stderr } = await $`docker-compose config --quiet`.cwd(inFiles(name)).quiet().nothrow();
  expect([stderr.toString(), exitCode]).toEqual(["", 0]);
});

test("the embedded service imports and serves", async () => {
  const text = await replaceIn(inFiles("embedded", "settings", "pds.toml"), { "/srv/feeds": join(root, "sample") });
  await writeFile(inFiles("embedded", "settings", "pds.toml"), text);
  await using service = await serve(
    { PDS_CONFIG: inFiles("embedded", "settings", "pds.toml") },
    await temporaryFolder(),
  );
  await until("the products are imported", async () => (await service.get(productPath)).ok);
});

test.skipIf(varnishd === null || Bun.which("psql") === null)("three replicas serve through Varnish", async () => {
  const { url, drop } = await createPostgresDatabase();
  const database = new URL(url).pathname.slice(1);
  const role = `role_${database}`;
  const port = await findFreePort();
  const replicas: RunningService[] = [];
  try {
    // As in the first start of the container of PostgreSQL.
    const roleSql = await readFile(join(root, "deploy", "role.sql"), "utf8");
    await writeFile(
      inFiles("1-role.sql"),
      roleSql.replaceAll('DATABASE "pds"', `DATABASE ${database}`).replaceAll(/\b(ROLE|TO) "pds"/g, `$1 ${role}`),
    );
    const password = inFiles("replicas", "secrets", "pds-password");
    await writeFile(
      inFiles("2-password.sql"),
      await replaceIn(inFiles("replicas", "password.sql"), {
        "/run/secrets/pds-password": password,
        "ROLE pds": `ROLE ${role}`,
      }),
    );
    await $`psql ${url} -v ON_ERROR_STOP=1 -f 1-role.sql -f 2-password.sql`.cwd(files).quiet();

    const credentials = inFiles("replicas", "secrets", "pds");
    await writeFile(
      join(credentials, "DATABASE_URL"),
      await replaceIn(join(credentials, "DATABASE_URL"), {
        "//pds:": `//${role}:`,
        "@postgres/pds": `@${new URL(url).host}/${database}`,
      }),
    );
    await writeFile(
      inFiles("replicas", "settings", "pds.toml"),
      await replaceIn(inFiles("replicas", "settings", "pds.toml"), {
        "/srv/feeds": join(root, "sample"),
        "172.28.24.10:6081": `127.0.0.1:${port}`,
        "172.28.24.10, 172.28.24.1": "127.0.0.1",
      }),
    );
    const environment = { PDS_CONFIG: inFiles("replicas", "settings", "pds.toml"), CREDENTIALS_DIRECTORY: credentials };
    while (replicas.length < 3) replicas.push(await serve(environment));
    const [first, second, third] = replicas.map((replica) => new URL(replica.url).port);
    const varnish = await startVarnishWith(
      await replaceIn(inFiles("replicas", "replicas.vcl"), {
        '"172.28.24.11";\n    .port = "3000"': `"127.0.0.1";\n    .port = "${first}"`,
        '"172.28.24.12";\n    .port = "3000"': `"127.0.0.1";\n    .port = "${second}"`,
        '"172.28.24.13";\n    .port = "3000"': `"127.0.0.1";\n    .port = "${third}"`,
        '    "172.28.24.11";': '    "127.0.0.1";',
      }),
      port,
    );
    const read = async () => {
      const response = await fetch(`${varnish.url}${productPath}`);
      return { status: response.status, text: await response.text() };
    };
    await until("the products are imported", async () => (await read()).status === 200);

    // A change reaches Varnish by a purge: without it, Varnish would keep the response for a day.
    const product = (await readFile(join(root, "sample", "products.ndjson"), "utf8"))
      .split("\n")
      .find((line) => line.includes("6781204660224"));
    await writeFile(inFiles("changed.ndjson"), `${product?.replace("Marlowe Platinum", "Changed")}\n`);
    const imported = await pds(["import", "products", inFiles("changed.ndjson"), "--force"], environment);
    expect([imported.stderr, imported.code]).toEqual([expect.any(String), 0]);
    await until("Varnish has the change", async () => (await read()).text.includes("Changed"));

    const token = (await readFile(inFiles("replicas", "secrets", "prometheus-token"), "utf8")).trim();
    const metrics = (headers: Record<string, string>) => fetch(`${replicas[0]?.adminUrl}/metrics`, { headers });
    expect((await metrics({})).status).toBe(401);
    expect((await metrics({ Authorization: `Bearer ${token}` })).status).toBe(200);

    await replicas.shift()?.stop();
    expect((await read()).status).toBe(200);
    expect((await fetch(`${varnish.url}/api/v1/products/12`)).status).toBe(404);
  } finally {
    for (const replica of replicas) await replica.stop();
    const admin = new SQL(url, { max: 1 });
    await admin.unsafe(`REVOKE ALL ON DATABASE ${database} FROM ${role}; DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await admin.close();
    await drop();
  }
});
