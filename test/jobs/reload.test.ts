import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { connectTo, createStore, main, migrateStore, temporaryFolder, writeFiles } from "../support/pds.ts";
import { spawnService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

const folder = await temporaryFolder();

test("runs keep the settings in effect while the file is invalid", async () => {
  const DATABASE_URL = await createStore("sqlite");
  await migrateStore(DATABASE_URL);
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\n',
  });
  await using sql = await connectTo(DATABASE_URL);
  const newest = async () => (await sql`SELECT max(id) AS id FROM run WHERE finished_at IS NOT NULL`)[0]?.id ?? 0;
  await using service = spawnService([], { DATABASE_URL, PDS_CONFIG });
  await until("it listens", () => /^Admin/m.test(service.printed()));
  await Bun.write(PDS_CONFIG, "brnad = 1\n");
  service.process.kill("SIGHUP");
  await until("it refuses invalid settings", () => service.log().includes("cannot reload the settings"));
  const before = await newest();
  await until("more runs have finished", async () => (await newest()) > before + 2);
  expect([...(await sql`SELECT DISTINCT outcome FROM run WHERE finished_at IS NOT NULL`)]).toEqual([
    { outcome: "succeeded" },
  ]);
});

test("a SIGHUP during the start reloads the settings after it, but not from a file that is gone", async () => {
  // A first run that waits for its feed delays the start.
  const answer = Promise.withResolvers<Response>();
  using web = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 255, fetch: () => answer.promise });
  const job = `[jobs.personalization-import]\nsource = "${web.url}"\n`;
  const own = await temporaryFolder();
  const [path = ""] = await writeFiles(own, { "pds.toml": job });
  const environment = { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG: undefined };
  await using service = spawnService([], environment, main, own);
  await until("the first run has started", () => service.log().includes("run started"));
  await Bun.write(path, `shop_domain = "new.example"\n${job}`);
  service.process.kill("SIGHUP");
  answer.resolve(new Response("", { status: 404 }));
  const restart = '"settings":["SHOP_DOMAIN"],"msg":"settings that changed take effect after a restart"';
  await until("it says what needs a restart", () => service.log().includes(restart));
  await rm(path);
  service.process.kill("SIGHUP");
  await until("it keeps its settings", () =>
    service.log().includes("pds.toml: the file of the settings does not exist"),
  );
});

test("SIGHUP reloads the jobs, the log level, and limits, and says what needs a restart", async () => {
  const write = (text: string) => writeFiles(folder, { "pds.toml": text });
  await write("[jobs.history-retention]\n");
  const environment = { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG: join(folder, "pds.toml") };
  await migrateStore(environment.DATABASE_URL);
  await using sql = await connectTo(environment.DATABASE_URL);
  const scheduled = async () => (await sql`SELECT 1 FROM run WHERE scheduled_at IS NOT NULL`).length;
  await using service = spawnService(["--workers", "1"], environment);
  await until("it listens", () => /^Admin/m.test(service.printed()));
  const address = service.printed().match(/^Public\s+(\S+)$/m)?.[1];
  const ask = () => fetch(`${address}/histories`);
  expect((await ask()).headers.has("ratelimit-limit")).toBe(false);

  await write("rate_limit = 'many'\n");
  service.process.kill("SIGHUP");
  await until("it refuses invalid settings", () => service.log().includes("cannot reload the settings"));
  expect(service.log()).toContain("rate_limit: expected a whole number");

  await write('rate_limit = 1\nshop_domain = "new.example"\n[jobs.history-retention]\nschedule = "* * * * * *"\n');
  service.process.kill("SIGHUP");
  await until("the new schedule is followed", async () => (await scheduled()) > 1);
  const restart = '"settings":["SHOP_DOMAIN"],"msg":"settings that changed take effect after a restart"';
  await until("it says what needs a restart", () => service.log().includes(restart));
  await until("the limit is in force", async () => (await ask()).status === 429);

  await write('log_level = "silent"\n');
  service.process.kill("SIGHUP");
  await until("the schedule has ended", async () => {
    const before = await scheduled();
    await Bun.sleep(2500);
    return (await scheduled()) === before;
  });
  const { code } = await service.end("SIGTERM");
  expect(code).toBe(0);
  expect(service.log()).not.toContain('"msg":"stopped"');
});
