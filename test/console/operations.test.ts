import { afterAll, describe, expect, test } from "bun:test";
import type { PurgeStatus } from "../../src/database/purge.ts";
import { queueReads } from "../../src/database/push-queue.ts";
import { readPushState } from "../../src/database/push-state.ts";
import { saveSubscribed } from "../../src/database/subscribed.ts";
import type { JobHealth } from "../../src/model/job.ts";
import { openConsole, rowsOf, textOf } from "../support/console.ts";
import { createMigratedStore, engines } from "../support/pds.ts";

const stores = await Promise.all(engines.map(async (engine) => ({ engine, url: await createMigratedStore(engine) })));

const topics = ["products/update", "products/delete"];
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const failure = { count: 3, since: ago(60), at: ago(50), retryAt: ago(-1), reason: "503" };

describe.each(stores)("on $engine, the console", async ({ url }) => {
  let jobs: readonly JobHealth[] = [];
  let purges: readonly PurgeStatus[] = [];
  const opened = await openConsole(url, "B", async () => jobs, {
    push: () => readPushState(opened.database, topics),
    purge: async () => [...purges],
  });
  const { database, load } = opened;
  const { sql } = database;
  afterAll(() => opened[Symbol.asyncDispose]());
  const insertRun = async (job: string, outcome: string | null, minutes: number, reason: string | null = null) => {
    const [at, until] = [ago(minutes), outcome === null ? null : ago(minutes)];
    const [run] = await sql<{ id: number }[]>`
      INSERT INTO run (job, brand, started_at, finished_at, lease_until, outcome, counts, reason)
      VALUES (${job}, 'B', ${at}, ${until}, '9999', ${outcome}, 0, ${reason}) RETURNING id`;
    return run?.id ?? 0;
  };

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
    purges = [{ target: "cdn", changes: 7, oldestS: 3600, failure, recent, ended: [] }];
    const html = await load("/");
    expect(textOf(html)).toContain("cdn: 7 changes to purge, the oldest for 60 minutes.");
    expect(textOf(html)).toMatch(/The last purge failed: 503\. This began at 20.* UTC \(60 minutes ago\) ?\./);
    expect(rowsOf(html).slice(-3)).toEqual([
      ["3 minutes ago", "12", "30", "2"],
      ["4 minutes ago", "those before, again", "30", "1"],
      ["5 minutes ago", "everything", "2", "1"],
    ]);
  });

  test("lists problems that have ended, with how long they lasted", async () => {
    const { count, reason } = failure;
    purges = [
      {
        target: "cdn",
        changes: 0,
        oldestS: 0,
        failure: undefined,
        recent: [],
        ended: [{ count, reason, since: ago(70), until: ago(60) }],
      },
    ];
    await insertRun("feed", "succeeded", 600);
    await insertRun("feed", "failed", 400, "no file");
    await insertRun("feed", "cancelled", 350, "cancelled by me");
    await insertRun("feed", "abandoned", 300, "its process is gone");
    await insertRun("feed", "succeeded", 280);
    await insertRun("feed", "failed", 10, "it goes on");
    await insertRun("old", "failed", 20_000, "long ago");
    await insertRun("old", "succeeded", 19_000);
    const text = textOf(await load("/"));
    const ended = text.slice(text.indexOf("Ended in the last seven days"), text.indexOf("Stored data"));
    expect(ended).toMatch(
      /^Ended in the last seven days 3 purges of cdn failed: 503\. It lasted 10 minutes, from .* feed for B failed: its process is gone\. It lasted 2 hours, from .* Show run $/,
    );
    jobs = [];
  });
});
