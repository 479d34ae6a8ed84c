import { expect, test } from "bun:test";
import { SQL } from "bun";
import { cleanUp } from "../support/clean-up.ts";
import { migrateStore, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { createStandby, untilWritten } from "../support/standby.ts";
import { until } from "../support/until.ts";

test("after two failovers in a row, to standbys that did not know of each other, lost changes leave all caches", async () => {
  const primary = await createPostgres();
  await migrateStore(primary.url);
  const create = async (url: string, id: number) => {
    await using sql = new SQL(url, { max: 1 });
    await sql`INSERT INTO product ${sql([{ id, document: "{}", tag: "", updated_at: "" }])}`;
  };
  await create(primary.url, 1);
  const [first, second] = [await createStandby(primary), await createStandby(primary)];
  cleanUp(async () => {
    for (const server of [first, second, primary]) await server.remove();
  });
  for (const standby of [first, second]) await standby.catchUp();
  await primary.stop("SIGKILL");
  await first.promote();
  await untilWritten(() => create(first.url, 2));

  const link = await startProxy(first.url);
  const provider = startPurgeProvider("generic");
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": `[purge]\nurl = "${provider.url}"\nrequests_per_minute = 6000\nburst = 100\n`,
  });
  const environment = { DATABASE_URL: link.url, VISIBLE: "all", CDN: "generic", PURGE_TOKEN: "purge-token" };
  await using service = await serve({ ...environment, PDS_CONFIG });
  const statusOf = async (id: number) => (await service.get(`/api/v1/products/${id}`)).status;
  await until("everything is purged, twice", () => provider.countOf("product") > 1);
  expect(await statusOf(2)).toBe(200);

  // Its timeline has the same number, and so have its changes.
  await second.promote();
  await untilWritten(() => create(second.url, 3));
  for (let id = 4; id < 7; id++) await create(second.url, id);
  const before = provider.countOf("product");
  link.redirect(second.url);
  await until("the new primary is read", async () => (await statusOf(6)) === 200);
  await until("the lost product is gone", async () => (await statusOf(2)) === 404);
  await until("everything is purged again, twice", () => provider.countOf("product") >= before + 2);
});
