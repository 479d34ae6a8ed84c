import { expect, test } from "bun:test";
import { SQL } from "bun";
import { toProduct } from "../support/catalog.ts";
import { fillStore } from "../support/import-here.ts";
import { createStore, isCampaign, serve } from "../support/pds.ts";
import { startProxy } from "../support/proxy.ts";
import { until } from "../support/until.ts";

// A service whose store answers late, or not in order.

const url = await createStore("postgres");
await fillStore({ DATABASE_URL: url }, [toProduct(1), toProduct(2)]);

let changes = 0;
async function change(): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  await sql`UPDATE product SET tag = ${`change ${++changes}`} WHERE id = 2`;
}

test("a store that answers within three seconds is not lost", async () => {
  const proxy = await startProxy(url);
  await using service = await serve({ DATABASE_URL: proxy.url, SCHEDULER: "off", SERVER_TIMING: "on" });
  // To prepare a statement takes one more answer.
  const status = async () => (await service.get("/api/v1/products/2")).headers.get("cache-status");
  await status();
  await change();
  await until("the first change is noticed", async () => (await status()) !== "pds; hit");
  // In short, other tests run beside this one, which adds to the delay.
  proxy.delay(isCampaign ? 2000 : 1000);
  for (let count = 0; count < 20; count++) {
    await change();
    await Bun.sleep(500);
  }
  proxy.delay(0);
  expect(service.log()).not.toContain("the store is unreachable");
});

test("a store that ends one connection is not lost", async () => {
  await using service = await serve({ DATABASE_URL: url, SCHEDULER: "off", READINESS: "strict" });
  await using sql = new SQL(url, { max: 1 });
  // Ends connections also while they wait for an answer.
  for (let count = 0; count < 5; count++) {
    await sql.begin(async (transaction) => {
      await transaction`LOCK TABLE change IN ACCESS EXCLUSIVE MODE`;
      await Bun.sleep(300);
      await transaction`
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM change%'`;
    });
    expect((await service.get("/readyz")).status).toBe(200);
  }
  expect(service.log()).not.toContain("the store is unreachable");
});

test("an answer that was overtaken does not clear the cache", async () => {
  const proxy = await startProxy(url);
  await using service = await serve({ DATABASE_URL: proxy.url, SCHEDULER: "off", SERVER_TIMING: "on" });
  const readStatus = async () => (await service.get("/api/v1/products/1")).headers.get("cache-status");
  await readStatus();
  expect(await readStatus()).toBe("pds; hit");
  let release = () => {};
  // The next answer may be for something else.
  const holdPoll = async () => {
    release();
    release = proxy.holdNext();
    await Bun.sleep(5000);
    return service.log().includes("the store is unreachable");
  };
  await until("one poll has timed out", holdPoll);
  await change();
  await until("another one succeeds", () => service.log().includes("reachable again"));
  release();
  await Bun.sleep(1000);
  expect(await readStatus()).toBe("pds; hit");
});
