import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { SQL } from "bun";
import type { PurgeState } from "../../src/cdn/position.ts";
import { cleanUp } from "../support/clean-up.ts";
import { connectTo, createMigratedStore, migrateStore, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { createStandby, untilWritten } from "../support/standby.ts";
import { until } from "../support/until.ts";

const create = async (url: string, id: number) => {
  await using sql = new SQL(url, { max: 1 });
  await sql`INSERT INTO product ${sql([{ id, document: "{}", tag: "", updated_at: "" }])}`;
};

/** A service without a platform, whose CDN has been purged of everything. */
async function servePurging(url: string) {
  const provider = startPurgeProvider("generic");
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": `[purge]\nurl = "${provider.url}"\nrequests_per_minute = 6000\nburst = 100\n`,
  });
  const environment = { VISIBLE: "all", CDN: "generic", PURGE_TOKEN: "purge-token", PDS_CONFIG };
  const service = await serve({ ...environment, DATABASE_URL: url });
  await until("everything is purged, twice", () => provider.countOf("product") > 1);
  const statusOf = async (id: number) => (await service.get(`/api/v1/products/${id}`)).status;
  return { service, provider, statusOf };
}

test("after a failover, everything is purged: the CDN may have responses that show lost changes", async () => {
  const primary = await createPostgres();
  await migrateStore(primary.url);
  const replication = await startProxy(primary.url);
  const standby = await createStandby(primary, { primaryUrl: replication.url });
  cleanUp(async () => {
    await standby.remove();
    await primary.remove();
  });
  const link = await startProxy(primary.url);
  const { service, provider } = await servePurging(link.url);
  await using _ = service;
  await create(primary.url, 1);
  await until("a change is purged", () => provider.countOf("product-1") > 0);
  await standby.catchUp();
  replication.cut();
  await create(primary.url, 2);
  await until("the change that will be lost is purged", () => provider.countOf("product-2") > 0);
  const before = provider.countOf("product");

  await primary.stop("SIGKILL");
  await standby.promote();
  await untilWritten(() => create(standby.url, 3));
  link.redirect(standby.url);
  await until("everything is purged again, twice", () => provider.countOf("product") >= before + 2);
  await create(standby.url, 4);
  await until("later changes are purged one by one", () => provider.countOf("product-4") > 1);
  expect(provider.countOf("product")).toBe(before + 2);
});

test("a purge of everything that has failed is repeated, although nothing is known of earlier ones", async () => {
  const url = await createMigratedStore("postgres");
  const { service, provider } = await servePurging(url);
  await using _ = service;
  await using sql = await connectTo(url);
  provider.state.isDown = true;
  // As a standby of before the first purge leaves it, or one of another store that was read.
  await sql`DELETE FROM purge_target`;
  await until("a purge has failed", async () => {
    const [row] = await sql<{ state: string }[]>`SELECT state FROM purge_target`;
    return row !== undefined && (JSON.parse(row.state) as PurgeState).failure !== undefined;
  });
  const before = provider.countOf("product");
  provider.state.isDown = false;
  await until("everything is purged, twice", () => provider.countOf("product") >= before + 2);
});

test("after two failovers in a row, to standbys that did not know of each other, lost changes leave all caches", async () => {
  const primary = await createPostgres();
  await migrateStore(primary.url);
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
  const { service, provider, statusOf } = await servePurging(link.url);
  await using _ = service;
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

test("after the disk of the server went back to a snapshot, lost changes leave all caches", async () => {
  const server = await createPostgres();
  cleanUp(() => server.remove());
  await migrateStore(server.url);
  await create(server.url, 1);
  const { service, provider, statusOf } = await servePurging(server.url);
  await using _ = service;
  await using sql = new SQL(server.url, { max: 1 });
  await until("the purges are saved", async () => {
    const [row] = await sql<{ state: string }[]>`SELECT state FROM purge_target`;
    return row?.state.includes('"marks":[]') === true;
  });
  const copy = (from: string, to: string) => expect(Bun.spawnSync(["cp", "-a", from, to]).exitCode).toBe(0);
  await server.stop();
  copy(server.data, `${server.data}-snapshot`);
  await server.start();
  await untilWritten(() => create(server.url, 2));
  await until("the change that will be lost is served", async () => (await statusOf(2)) === 200);
  await until("the change that will be lost is purged", () => provider.countOf("product-2") > 0);

  const before = provider.countOf("product");
  await server.stop();
  await rm(server.data, { recursive: true });
  copy(`${server.data}-snapshot`, server.data);
  await server.start();
  await until("the lost product is gone", async () => (await statusOf(2)) === 404);
  await until("everything is purged again, twice", () => provider.countOf("product") >= before + 2);
});
