import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { connectTo, createStore, main, migrateStore, temporaryFolder, writeFiles } from "../support/pds.ts";
import { childrenOf, spawnService } from "../support/service-process.ts";
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

test("a file that is gone is no empty file", async () => {
  const own = await temporaryFolder();
  await writeFiles(own, { "pds.toml": "[jobs.history-retention]\n" });
  const DATABASE_URL = await createStore("sqlite");
  await using service = spawnService([], { DATABASE_URL, PDS_CONFIG: undefined }, main, own);
  await until("it listens", () => /^Admin/m.test(service.printed()));
  await rm(join(own, "pds.toml"));
  service.process.kill("SIGHUP");
  await until("it keeps its settings", () => service.log().includes("cannot reload the settings"));
  expect(service.log()).toContain("pds.toml: the file of the settings does not exist");
});

test("a worker that ends is restarted while the file is invalid", async () => {
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": 'shop_domain = "former.example"\n',
  });
  const environment = { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG };
  await using service = spawnService(["--workers", "1"], environment);
  await until("it listens", () => /^Admin/m.test(service.printed()));
  const address = service.printed().match(/^Public\s+(\S+)$/m)?.[1];
  const [worker = 0] = childrenOf(service.pid);
  await Bun.write(PDS_CONFIG, "brnad = 1\n");
  process.kill(worker, "SIGKILL");
  await until("another worker serves with the former settings", async () => {
    if (childrenOf(service.pid).includes(worker)) return false;
    const response = await fetch(`${address}/products/12`, { keepalive: false }).catch(() => undefined);
    return (await response?.text())?.includes('"shop":"former.example"') === true;
  });
  await until("it says so", () => service.log().includes("a worker is restarted with the former ones"));
});

test("a SIGHUP during the start reloads the settings after it", async () => {
  // A first run that waits for its feed delays the start.
  const answer = Promise.withResolvers<Response>();
  using web = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 255, fetch: () => answer.promise });
  const job = `[jobs.personalization-import]\nsource = "${web.url}"\n`;
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), { "pds.toml": job });
  await using service = spawnService([], { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG });
  await until("the first run has started", () => service.log().includes("run started"));
  await Bun.write(PDS_CONFIG, `shop_domain = "new.example"\n${job}`);
  service.process.kill("SIGHUP");
  answer.resolve(new Response("", { status: 404 }));
  const restart = '"settings":["SHOP_DOMAIN"],"msg":"settings that changed take effect after a restart"';
  await until("it says what needs a restart", () => service.log().includes(restart));
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
