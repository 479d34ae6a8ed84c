import { expect, test } from "bun:test";
import { createFetch } from "../../src/base/outgoing.ts";
import { followChanges } from "../../src/cdn/follower.ts";
import { PurgeCounter } from "../../src/cdn/metrics.ts";
import type { PurgeOptions } from "../../src/cdn/options.ts";
import { createTargets } from "../../src/cdn/targets.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { connectTo, createMigratedStore } from "../support/pds.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { startServer } from "../support/server.ts";
import { until, untilEqual } from "../support/until.ts";

const optionsFor = (url: string): PurgeOptions => ({
  ...{ cdn: "generic", url, method: "POST", headers: { Authorization: "Bearer {token}" }, body: '{"tags":{tags}}' },
  ...{ max_tags: 1, requests_per_minute: 600, burst: 10, max_age: 86_400 },
});

/** Follows the changes of a new store. @param prepare statements that run before */
async function follow(url: string, ...prepare: readonly string[]) {
  const storeUrl = await createMigratedStore("sqlite");
  await using sql = await connectTo(storeUrl);
  for (const statement of prepare) await sql.unsafe(statement);
  const database = await openDatabase(storeUrl);
  const stopping = new AbortController();
  const settled: (string | undefined)[] = [];
  const following = followChanges({
    database,
    holder: "test",
    targets: createTargets(optionsFor(url), "purge-token"),
    form: "a",
    counter: new PurgeCounter(),
    log: { warn: () => {}, info: () => {} } as never,
    fetch: createFetch(),
    signal: stopping.signal,
    onSettled: (changes) => settled.push(...changes.map((change) => (change.noun === "product" ? change.key : ""))),
  });
  cleanUp(async () => {
    stopping.abort();
    await following;
    await closeDatabase(database);
  });
  return { storeUrl, settled };
}

test("a purge is repeated as long after a slow refusal as the provider says", async () => {
  const receivedMs: number[] = [];
  let refusedMs = 0;
  const url = startServer(async () => {
    if (receivedMs.push(performance.now()) > 1) return new Response();
    await Bun.sleep(1500);
    refusedMs = performance.now();
    return new Response("{}", { status: 429, headers: { "Retry-After": "2" } });
  });
  await follow(url);
  await until("the purge is repeated", () => receivedMs.length > 1);
  expect((receivedMs[1] ?? 0) - refusedMs).toBeGreaterThan(1900);
});

test("a process that takes over purging waits until the time that the provider gave to the one before", async () => {
  const provider = startPurgeProvider("generic");
  const at = new Date().toISOString();
  const retryAtMs = Date.now() + 1500;
  const failure = { count: 1, since: at, at, retryAt: new Date(retryAtMs).toISOString(), reason: "it is busy" };
  const state = JSON.stringify({ form: "", history: "", first: 0, second: 0, marks: [], failure });
  await follow(
    provider.url,
    // The other process saves its failure after this one has read the state, and before it has the right.
    `CREATE TRIGGER other AFTER INSERT ON lease BEGIN
      INSERT INTO purge_target (name, state) VALUES (substr(NEW.name, length('purge ') + 1), '${state}');
    END`,
  );
  await until("it purges", () => provider.purges.length > 0);
  expect(Date.now()).toBeGreaterThanOrEqual(retryAtMs);
});

test("products that were purged as a whole are known, to probe some", async () => {
  const provider = startPurgeProvider("generic");
  const { storeUrl, settled } = await follow(provider.url);
  await until("everything is purged", () => provider.purges.length > 1);
  await using sql = await connectTo(storeUrl);
  const rows = Array.from({ length: 300 }, (_, id) => ({ id, document: "{}", tag: "", updated_at: "" }));
  await sql`INSERT INTO product ${sql(rows)}`;
  await until("they are purged twice", () => settled.length > 0);
  expect(settled.toSorted()).toEqual(rows.map(({ id }) => `${id}`).toSorted());
  expect(provider.countOf("product-1")).toBe(0);
});

test("everything is purged once after the log went back, and again when that is due", async () => {
  const provider = startPurgeProvider("generic");
  const state = JSON.stringify({ form: "a", history: "", first: 0, second: 0, marks: [] });
  const { storeUrl } = await follow(
    provider.url,
    `INSERT INTO purge_target (name, state) VALUES ('generic ${provider.url}', '${state}')`,
  );
  await using sql = await connectTo(storeUrl);
  await sql`INSERT INTO product ${sql([1, 2].map((id) => ({ id, document: "{}", tag: "", updated_at: "" })))}`;
  const findFirst = async () => JSON.parse((await sql`SELECT state FROM purge_target`)[0].state).first as number;
  await untilEqual(findFirst, 2);
  await sql`DELETE FROM change WHERE id = 2`;
  await until("everything is purged twice", () => provider.countOf("product") > 1);
  const [firstMs = 0, secondMs = 0] = provider.purges
    .filter(({ tags }) => tags[0] === "product")
    .map(({ atMs }) => atMs);
  expect(secondMs - firstMs).toBeGreaterThan(4000);
});
