import { expect, test } from "bun:test";
import { exceptKnownId, isKnownMissing, knowIdsUpTo } from "../../src/catalog/known-ids.ts";
import { openDatabase } from "../../src/database/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { connectTo, createMigratedStore } from "../support/pds.ts";
import { until } from "../support/until.ts";

test("two processes can each add an exception at the same time", async () => {
  const url = await createMigratedStore("postgres");
  const [one, other] = await Promise.all([openDatabase(url), openDatabase(url)]);
  cleanUp(() => Promise.all([one.close(0), other.close(0)]));
  await one.inTransaction((transaction) => knowIdsUpTo(transaction, 9n, true));
  const read = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const first = one.inTransaction(async (transaction) => {
    await exceptKnownId(transaction, 1n);
    read.resolve();
    await commit.promise;
  });
  await read.promise;
  const second = other.inTransaction((transaction) => exceptKnownId(transaction, 2n));
  await using sql = await connectTo(url);
  await until("the second waits for the first", async () => {
    const waiting = await sql`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });
  commit.resolve();
  await Promise.all([first, second]);
  expect(await Promise.all([1n, 2n, 3n].map((id) => isKnownMissing(one, id)))).toEqual([false, false, true]);
});
