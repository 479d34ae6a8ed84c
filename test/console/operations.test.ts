import { afterAll, describe, expect, test } from "bun:test";
import { queueReads } from "../../src/catalog/push/queue.ts";
import { readPushState, saveSubscribed } from "../../src/catalog/push/state.ts";
import type { PurgeStatus } from "../../src/cdn/position.ts";
import { openConsole, rowsOf, textOf } from "../support/console.ts";
import { createMigratedStore, engines } from "../support/pds.ts";

const stores = await Promise.all(engines.map(async (engine) => ({ engine, url: await createMigratedStore(engine) })));

const topics = ["products/update", "products/delete"];
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const failure = { count: 3, since: ago(60), at: ago(50), retryAt: ago(-1), reason: "503" };

describe.each(stores)("on $engine, the console", async ({ url }) => {
  let purges: readonly PurgeStatus[] = [];
  const opened = await openConsole(url, "B", async () => [], {
    push: () => readPushState(opened.database, topics),
    purge: async () => [...purges],
  });
  const { database, load } = opened;
  afterAll(() => opened[Symbol.asyncDispose]());
  test("shows the queue, the subscriptions, and the last delivery of each topic", async () => {
    expect(rowsOf(await load("/")).filter(([topic]) => topics.includes(topic ?? ""))).toEqual([
      ["products/update", "none yet", "not known"],
      ["products/delete", "none yet", "not known"],
    ]);
    await queueReads(database, [{ id: 1n }], 0, new Set(["products/update"]));
    await database.inTransaction((transaction) => saveSubscribed(transaction, "https://shop", ["products/delete"]));
    const html = await load("/");
    expect(textOf(html)).toContain("1 product to read.");
    const rows = rowsOf(html).filter(([topic]) => topics.includes(topic ?? ""));
    expect(rows.map(([topic, , subscription]) => [topic, subscription])).toEqual([
      ["products/update", "delivered"],
      ["products/delete", "no longer delivered"],
    ]);
    expect(rows[0]?.[1]).toMatch(/just now|ago|^now$/);
  });

  test("shows the last purges, and since when they fail", async () => {
    const recent = [
      { at: ago(3), changes: 12, isAll: false, requests: 2, tags: 30 },
      { at: ago(4), changes: 0, isAll: false, requests: 1, tags: 30 },
      { at: ago(5), changes: 0, isAll: true, requests: 1, tags: 2 },
    ];
    purges = [{ target: "cdn", changes: 7, oldestS: 3600, failure, recent }];
    const html = await load("/");
    expect(textOf(html)).toContain("cdn: 7 changes to purge, the oldest for 60 minutes.");
    expect(textOf(html)).toMatch(/The last purge failed: 503\. This began at 20.* UTC \(60 minutes ago\) ?\./);
    expect(rowsOf(html).slice(-3)).toEqual([
      ["3 minutes ago", "12", "30", "2"],
      ["4 minutes ago", "those before, again", "30", "1"],
      ["5 minutes ago", "everything", "2", "1"],
    ]);
  });
});
