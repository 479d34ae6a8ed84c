import { expect, test } from "bun:test";
import { join } from "node:path";
import { connectTo, createMigratedStore, main, temporaryFolder, writeFiles } from "../support/pds.ts";
import { childrenOf, readinessOf, spawnService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

const folder = await temporaryFolder();
const [config = ""] = await writeFiles(folder, {
  "pds.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\n',
});

test("a service whose program was replaced in place starts no process of the new version", async () => {
  const own = await temporaryFolder();
  const program = join(own, "main.ts");
  await writeFiles(own, { "main.ts": `await import(${JSON.stringify(main)});\n` });
  const environment = { DATABASE_URL: await createMigratedStore("sqlite"), PDS_CONFIG: config };
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
  const scheduler = expect.stringMatching(/^no further runs are started here: .* was replaced while/);
  expect(await readinessOf(`${address()}`)).toMatchObject({ status: "degraded", checks: { service: "ok", scheduler } });
});
