import { expect, test } from "bun:test";
import { DeliveryWriter } from "../../src/catalog/push/delivery-writer.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { connectTo, createStore } from "../support/pds.ts";
import { until } from "../support/until.ts";

test("a delivery whose connection ends is queued through another one", async () => {
  const url = await createStore("postgres");
  const database = await openDatabase(url, "scheduling");
  const blocker = await connectTo(url);
  const observer = await connectTo(url);
  const writer = new DeliveryWriter(database);
  let saving: Promise<void> | undefined;
  await blocker.begin(async (transaction) => {
    await transaction`LOCK TABLE push_queue`;
    saving = writer.save({ id: 1n }, "products/update");
    await until("the connection that waits for the table is ended", async () => {
      const ended = await observer`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%push_queue%'`;
      return ended.length > 0;
    });
  });
  await saving;
  const queued = await observer`SELECT CAST(product AS INTEGER) AS product, deliveries FROM push_queue`;
  expect([...queued]).toEqual([{ product: 1, deliveries: 1 }]);
  await Promise.all([blocker.close(), observer.close(), closeDatabase(database)]);
});
