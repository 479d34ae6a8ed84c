import { expect, test } from "bun:test";
import { SQL } from "bun";
import { createFetch } from "../../src/base/outgoing.ts";
import { PurgeCounter } from "../../src/cdn/counter.ts";
import { followChanges } from "../../src/cdn/follower.ts";
import { type PurgeState, removePurgeStates } from "../../src/cdn/position.ts";
import { createTargets } from "../../src/cdn/targets.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createMigratedStore, migrateStore } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { createStandby, untilWritten } from "../support/standby.ts";
import { until } from "../support/until.ts";

const change = async (url: string, id: number) => {
  await using sql = new SQL(url, { max: 1 });
  await sql`INSERT INTO product ${sql([{ id, document: "{}", tag: "", updated_at: "" }])}`;
};

/** Purges a provider, until the end of the test file, as one process does. */
async function follow(url: string) {
  const provider = startPurgeProvider("generic");
  const database = await openDatabase(url, "scheduling");
  const stopping = new AbortController();
  const following = followChanges({
    database,
    holder: "test",
    targets: createTargets(
      {
        ...{ cdn: "generic", url: provider.url, method: "POST", headers: { Authorization: "Bearer {token}" } },
        ...{ body: '{"tags":{tags}}', max_tags: 100, requests_per_minute: 6000, burst: 100, max_age: 86_400 },
      },
      "purge-token",
    ),
    form: "a",
    counter: new PurgeCounter(),
    log: { warn: () => {}, info: () => {} } as never,
    fetch: createFetch(),
    signal: stopping.signal,
    onSettled: () => {},
  });
  cleanUp(async () => {
    stopping.abort();
    await following;
    await closeDatabase(database);
  });
  await until("everything is purged, twice", () => provider.countOf("product") > 1);
  return { provider, database };
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
  const { provider } = await follow(link.url);
  await change(primary.url, 1);
  await until("a change is purged", () => provider.countOf("product-1") > 0);
  await standby.catchUp();
  replication.cut();
  await change(primary.url, 2);
  await until("the change that will be lost is purged", () => provider.countOf("product-2") > 0);
  const before = provider.countOf("product");

  await primary.stop("SIGKILL");
  await standby.promote();
  await untilWritten(() => change(standby.url, 3));
  link.redirect(standby.url);
  await until("everything is purged again, twice", () => provider.countOf("product") >= before + 2);
  await change(standby.url, 4);
  await until("later changes are purged one by one", () => provider.countOf("product-4") > 1);
  expect(provider.countOf("product")).toBe(before + 2);
});

test("a purge of everything that has failed is repeated, although nothing is known of earlier ones", async () => {
  const { provider, database } = await follow(await createMigratedStore("postgres"));
  provider.state.isDown = true;
  // As a standby of before the first purge leaves it, or one of another store that was read.
  await removePurgeStates(database);
  await until("a purge has failed", async () => {
    const [row] = await database.sql<{ state: string }[]>`SELECT state FROM purge_target`;
    return row !== undefined && (JSON.parse(row.state) as PurgeState).failure !== undefined;
  });
  const before = provider.countOf("product");
  provider.state.isDown = false;
  await until("everything is purged, twice", () => provider.countOf("product") >= before + 2);
});
