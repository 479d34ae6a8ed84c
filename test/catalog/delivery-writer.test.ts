import { expect, test } from "bun:test";
import { DeliveryWriter } from "../../src/catalog/push/delivery-writer.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { connectTo, createMigratedStore, createStore } from "../support/pds.ts";
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

test("a delivery is queued again when the server ends its connection for having been idle", async () => {
  const url = await createMigratedStore("postgres");
  const database = await openDatabase(url, "scheduling");
  const sql = await connectTo(url);
  // The error that a statement gets when it arrives while the server ends the connection.
  await sql`CREATE SEQUENCE attempt`;
  await sql.unsafe(`CREATE FUNCTION end_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('attempt') = 1 THEN
      RAISE EXCEPTION 'terminating connection due to idle-session timeout' USING ERRCODE = 'idle_session_timeout';
    END IF;
    RETURN NULL;
  END $$`);
  await sql`CREATE TRIGGER end_first BEFORE INSERT ON push_queue FOR EACH STATEMENT EXECUTE FUNCTION end_first()`;
  await new DeliveryWriter(database).save({ id: 1n }, "products/update");
  const queued = await sql`SELECT CAST(product AS INTEGER) AS product, deliveries FROM push_queue`;
  expect([...queued]).toEqual([{ product: 1, deliveries: 1 }]);
  await Promise.all([sql.close(), closeDatabase(database)]);
});
