import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/json.ts";
import { toProduct } from "../support/catalog.ts";
import {
  connectTo,
  createStore,
  enginesOf,
  main,
  migrateStore,
  pds,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { childrenOf, spawnService, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// While replicas are upgraded one after the other, older ones run beside newer ones.
const folder = await temporaryFolder();
const [products = "", config = ""] = await writeFiles(folder, {
  "products.ndjson": toJson(toProduct(1)),
  "pds.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\n',
});

describe.each([...enginesOf("sqlite")])("on %s, a service whose store was upgraded", (engine) => {
  test("goes on beside a newer version that only added to it, and otherwise serves but starts no runs", async () => {
    const environment = { DATABASE_URL: await createStore(engine), PDS_CONFIG: config };
    await pds(["import", "products", products], environment);
    await using service = await startService(environment);
    await using sql = await connectTo(environment.DATABASE_URL);
    const runs = () => sql<{ outcome: string | null }[]>`SELECT outcome FROM run WHERE job = 'history-retention'`;
    await sql`INSERT INTO schema_migration (name) VALUES ('2999-01-01-later')`;
    const before = (await runs()).length;
    await until("runs go on", async () => (await runs()).length > before + 2);
    await sql`INSERT INTO schema_minimum (migration, version) VALUES ('2999-01-01-later', '9.1.0')`;
    const readiness = async () => (await fetch(`${service.url}/readyz`)).json();
    const scheduler = expect.stringMatching(
      /^no further runs are started here: the store was upgraded: it needs version 9/,
    );
    await until("it says so", async () => service.log().includes("no further runs are started here"));
    expect(await readiness()).toMatchObject({ status: "degraded", checks: { service: "ok", scheduler } });
    await until("no run is in progress", async () => (await runs()).every(({ outcome }) => outcome !== null));
    const left = (await runs()).length;
    expect((await fetch(`${service.url}/api/v1/products/1`)).status).toBe(200);
    await Bun.sleep(2500);
    expect((await runs()).length).toBe(left);
    // No claim was made that its program could not keep.
    expect((await runs()).every(({ outcome }) => outcome === "succeeded")).toBe(true);
  });
});

test("a service whose program was replaced in place starts no process of the new version", async () => {
  const own = await temporaryFolder();
  const program = join(own, "main.ts");
  await writeFiles(own, { "main.ts": `await import(${JSON.stringify(main)});\n` });
  const environment = { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG: config };
  await migrateStore(environment.DATABASE_URL);
  await using service = spawnService([], environment, program);
  await using sql = await connectTo(environment.DATABASE_URL);
  const runs = () => sql<{ outcome: string | null }[]>`SELECT outcome FROM run WHERE scheduled_at IS NOT NULL`;
  await until("the schedule is followed", async () => (await runs()).length > 0);
  // Not while a process starts: it would read the new program.
  await until("no run is in progress", () => {
    service.process.kill("SIGSTOP");
    if (childrenOf(service.pid).length === 0) return true;
    service.process.kill("SIGCONT");
    return false;
  });
  await writeFiles(own, { "main.ts": "throw new Error('the new version');" });
  service.process.kill("SIGCONT");
  await until("it says so", () => service.log().includes("was replaced while this process runs"));
  // A claim made in that moment is taken back.
  const hasOnlySucceeded = async () => (await runs()).every(({ outcome }) => outcome === "succeeded");
  await until("no run is in progress, and none failed", hasOnlySucceeded);
  const address = () => service.printed().match(/^Admin\s+(\S+)$/m)?.[1];
  await until("the address is printed", () => address() !== undefined);
  expect((await fetch(`${address()}/livez`)).status).toBe(200);
});
