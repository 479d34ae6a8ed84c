import { describe, expect, test } from "bun:test";
import {
  type DueProduct,
  finishRead,
  listDue,
  queueReads,
  type ReadOutcome,
  readQueueState,
} from "../../src/catalog/push/queue.ts";
import { toOutcome } from "../../src/catalog/push/worker.ts";
import type { Database } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { Lease } from "../../src/database/lease.ts";
import { createStore, engines } from "../support/pds.ts";

interface Row {
  readonly deliveries: number;
  readonly attempts: number;
  readonly isUnread: boolean;
  /** In how many seconds it is due, rounded. */
  readonly dueInS: number;
}

async function find({ sql, engine }: Database, product: bigint): Promise<Row | undefined> {
  type Stored = { deliveries: number; attempts: number; unread: string | null; due: string; now: string };
  const [row] = await sql<Stored[]>`
    SELECT deliveries, attempts, unread_since AS unread, due_at AS due, ${sql.unsafe(engine.now)} AS now
    FROM push_queue WHERE product = ${product}`;
  if (row === undefined) return undefined;
  const { deliveries, attempts, unread, due, now } = row;
  // Rounded to whole minutes, so that a slow machine does not matter.
  return {
    deliveries,
    attempts,
    isUnread: unread !== null,
    dueInS: Math.round((Date.parse(due) - Date.parse(now)) / 60_000) * 60 || 0,
  };
}

const huge = 9_007_199_254_740_993n;

const stores = await Promise.all(engines.map(async (engine) => ({ engine, url: await createStore(engine) })));

describe.each(stores)("on $engine", ({ url }) => {
  test("the right to work the queue belongs to one process, until it releases it or its lease ends", async () => {
    const database = await openDatabase(url);
    const leaseOf = (holder: string, lengthS = 60) =>
      new Lease(database, { name: "push", holder, renewMs: 0, shortestS: lengthS, longestS: lengthS });
    const [a, b] = [leaseOf("a"), leaseOf("b")];
    expect([await a.hold(), await b.hold(), await a.hold(), await a.renew()]).toEqual([true, false, true, true]);
    await b.release();
    expect(await b.hold()).toBe(false);
    await a.release();
    expect([await a.renew(), await leaseOf("b", -1).hold(), await leaseOf("a", 3600).hold()]).toEqual([
      false,
      true,
      true,
    ]);
    // Beyond its length: it was taken before the clock was set back.
    expect(await b.hold()).toBe(true);
    expect(await Promise.all(["c", "d", "e"].map((holder) => leaseOf(holder).hold()))).toEqual([false, false, false]);
    await closeDatabase(database);
  });

  test("the queue holds a product once, and loses it with a settled read after the last delivery", async () => {
    const database = await openDatabase(url);
    const take = async (outcome: ReadOutcome, before?: () => Promise<void>) => {
      const due = (await listDue(database, 10)).find(({ id }) => id === huge);
      await before?.();
      if (due !== undefined) await finishRead(database, due, outcome, 60);
      return due;
    };
    const { products } = await readQueueState(database);
    await queueReads(database, [{ id: huge }, { id: 1n }, { id: huge }], -1);
    await queueReads(database, [{ id: huge, updatedAt: "2026-11-22T10:00:00Z" }], 600);
    expect(await find(database, huge)).toEqual({ deliveries: 3, attempts: 0, isUnread: true, dueInS: 0 });
    expect(await readQueueState(database)).toEqual({ products: products + 2, oldestS: expect.any(Number) });

    // It fails, and no delivery makes it due sooner.
    expect(await take({ kind: "failed", againInS: 300 })).toMatchObject({ deliveries: 3, canSettle: false });
    await queueReads(database, [{ id: huge }], -1);
    expect(await find(database, huge)).toEqual({ deliveries: 4, attempts: 1, isUnread: true, dueInS: 300 });

    // It is read, but must settle; a delivery makes it due again, though not at once.
    await database.sql`UPDATE push_queue SET due_at = '' WHERE product = ${huge}`;
    await take({ kind: "unsettled", againInS: 600 });
    expect(await find(database, huge)).toEqual({ deliveries: 4, attempts: 2, isUnread: false, dueInS: 600 });
    await queueReads(database, [{ id: huge }], -1);
    expect(await find(database, huge)).toEqual({ deliveries: 5, attempts: 0, isUnread: true, dueInS: 60 });

    // Another delivery arrives during a settled read.
    await database.sql`UPDATE push_queue SET due_at = '' WHERE product = ${huge}`;
    await take({ kind: "settled" }, () => queueReads(database, [{ id: huge }], -1));
    expect(await find(database, huge)).toEqual({ deliveries: 6, attempts: 0, isUnread: true, dueInS: 60 });
    await database.sql`UPDATE push_queue SET due_at = '' WHERE product = ${huge}`;
    await take({ kind: "settled" });
    expect(await find(database, huge)).toBeUndefined();
    expect(await find(database, 1n)).toMatchObject({ deliveries: 1 });
    await closeDatabase(database);
  });
});

test.each(stores)("on $engine, a process that was stopped does not take off what was queued since", async ({ url }) => {
  const database = await openDatabase(url);
  const takeDue = async () => (await listDue(database, 10)).find(({ id }) => id === 7n) as DueProduct;
  await queueReads(database, [{ id: 7n }], -2);
  const ofStopped = await takeDue();
  await finishRead(database, await takeDue(), { kind: "settled" }, 3);
  expect(await find(database, 7n)).toBeUndefined();
  await queueReads(database, [{ id: 7n }], -1);
  await finishRead(database, ofStopped, { kind: "settled" }, 3);
  expect(await find(database, 7n)).toMatchObject({ deliveries: 1 });
  await closeDatabase(database);
});

test("a product that does not settle, or cannot be read, is read again later and later", () => {
  const waits = (result: "unsettled" | "failed") =>
    [0, 1, 2, 3, 20].map((attempts) => {
      const outcome = toOutcome(result, attempts);
      return outcome.kind === "settled" ? 0 : outcome.againInS;
    });
  // Three reads: after one second, after more than five, and after more than ten.
  expect(waits("unsettled").map((wait) => Math.round(wait * 10) / 10)).toEqual([4.6, 4.6, 6.9, 10.4, 60]);
  expect(waits("failed")).toEqual([2, 4, 8, 16, 60]);
  expect(toOutcome("settled", 3)).toEqual({ kind: "settled" });
});
