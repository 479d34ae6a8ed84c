import { afterAll, describe, expect, test } from "bun:test";
import type { PurgeStatus } from "../../src/database/purge.ts";
import { queueReads } from "../../src/database/push-queue.ts";
import { readPushState } from "../../src/database/push-state.ts";
import { listReplicas, type ReplicaState, removeReplica, saveReplica } from "../../src/database/replica.ts";
import { saveSubscribed } from "../../src/database/subscribed.ts";
import { holdLease } from "../../src/database/work-lease.ts";
import type { JobHealth } from "../../src/model/job.ts";
import { openConsole, rowsOf, textOf } from "../support/console.ts";
import { createMigratedStore, engines } from "../support/pds.ts";

const stores = await Promise.all(engines.map(async (engine) => ({ engine, url: await createMigratedStore(engine) })));

const topics = ["products/update", "products/delete"];
const state: ReplicaState = {
  ...{ host: "web-1", pid: 41, version: "1.2.3", workers: undefined, runs: [], lastChange: 0 },
  ...{ duties: ["schedules", "deliveries"], suspension: undefined, outage: undefined, standbys: undefined },
};
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const failure = { count: 3, since: ago(60), at: ago(50), retryAt: ago(-1), reason: "503" };

describe.each(stores)("on $engine, the console", async ({ url }) => {
  let jobs: readonly JobHealth[] = [];
  let purges: readonly PurgeStatus[] = [];
  const opened = await openConsole(url, "B", async () => jobs, {
    replica: "one",
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

  test("shows what each replica reports, that one no longer does, and forgets it after an hour", async () => {
    expect(textOf(await load("/replicas"))).toContain("No replica has reported yet.");
    const run = await insertRun("catalog-sync", null, 1);
    for (let change = 0; change < 3; change++) await sql`INSERT INTO change (noun, scope) VALUES ('product', '1')`;
    await saveReplica(database, "one", { ...state, lastChange: 3, runs: [run] }, 7200);
    const outage = { beganAgoS: 300, endedAgoS: 60 };
    const workers = { serving: 1, wanted: 2 };
    const other = { ...state, host: "web-2", workers, outage, lastChange: 1, suspension: "the store was upgraded" };
    await saveReplica(database, "two", other, 60);
    await database.inTransaction((transaction) => holdLease(transaction, "push", "two", 600));
    await database.inTransaction((transaction) => holdLease(transaction, "purge cdn", "two", 600));
    const rows = rowsOf(await load("/replicas")).toSorted();
    expect(rows.map(([name]) => name)).toEqual(["web-1 process 41, which shows this page", "web-2 process 41"]);
    const [one = [], two = []] = rows;
    expect(one.slice(1, 4)).toEqual(["1.2.3", "2 hours ago", "none, it serves itself"]);
    expect(one.slice(5)).toEqual(["up to 3", "runs catalog-sync for B Takes part in schedules, deliveries."]);
    expect(two[3]).toBe("1 of 2 serve");
    expect(two[4]).toMatch(/^reachable .* not reachable for 4 minutes until 20.* UTC$/);
    expect(two[5]).toBe("up to 1 2 changes behind");
    expect(two[6]).toMatch(/^purges cdn reads delivered changes .*Starts no further runs: the store was upgraded$/);

    await sql`UPDATE replica SET seen_at = ${ago(5)} WHERE id = 'two'`;
    const text = textOf(await load("/replicas"));
    expect(text).toContain("no report since 5 minutes ago : it was killed, or cannot reach the store");
    await sql`UPDATE replica SET seen_at = ${ago(61)} WHERE id = 'two'`;
    await saveReplica(database, "one", state, 0);
    // Nor does one stay that reported before the clock was set back.
    await sql`INSERT INTO replica (id, started_at, seen_at, state) VALUES ('late', '9999', '9999', '{}')`;
    await saveReplica(database, "one", state, 0);
    expect((await listReplicas(database)).map(({ id }) => id)).toEqual(["one"]);
    await removeReplica(database, "one");
    expect(await listReplicas(database)).toEqual([]);
  });

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
