import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { ConcurrencyLimiter } from "../../src/concurrency-limiter.ts";
import { findNewestChange } from "../../src/database/change.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { openStandbys } from "../../src/database/standbys.ts";
import { cleanUp } from "../support/clean-up.ts";
import { migrateStore } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { createStandby, untilWritten } from "../support/standby.ts";
import { until } from "../support/until.ts";

const primary = await createPostgres();
await migrateStore(primary.url);
const sql = new SQL(primary.url, { max: 1 });
await sql`INSERT INTO product ${sql([{ id: 1, document: "{}", tag: "0", updated_at: "" }])}`;
const standby = await createStandby(primary);
afterAll(async () => {
  await sql.close();
  await standby.remove();
  await primary.remove();
});

let edits = 0;
const edit = async (store = sql) => {
  await store`UPDATE product SET tag = ${`${++edits}`} WHERE id = 1`;
  return `${edits}`;
};

/** Reads from a standby. Nothing polls the primary, so each test decides what this process has seen. */
async function open(standbyUrl = standby.url, otherUrls: readonly string[] = []) {
  const link = await startProxy(standbyUrl);
  const toPrimary = await startProxy(primary.url);
  const database = await openDatabase(toPrimary.url, "serving");
  let foreign = 0;
  const inTouch = { isCurrent: true };
  const limiter = new ConcurrencyLimiter({
    ...{ name: "primary", maxActive: 4, maxQueued: 100, maxWaitMs: 60_000, timeoutMs: 60_000, rejection: "busy" },
  });
  const standbys = await openStandbys({
    ...{ primary: database, urls: [link.url, ...otherUrls], connect: {}, limiter, isCurrent: () => inTouch.isCurrent },
    onForeign: async () => void foreign++,
    log: { debug: () => {}, warn: () => {}, info: () => {} } as never,
  });
  standbys.note(await findNewestChange(database));
  const stopping = new AbortController();
  const stopped = standbys.run(stopping.signal);
  cleanUp(async () => {
    stopping.abort();
    await stopped;
    await closeDatabase(database);
  });
  const readTag = async () => {
    const rows = await standbys.read<{ tag: string }>("SELECT tag FROM product WHERE id = $1", [1]);
    return rows[0]?.tag;
  };
  await until("the standby is read", async () => {
    await readTag();
    return standbys.counts.standby > 0;
  });
  return { database, link, toPrimary, standbys, readTag, inTouch, countForeign: () => foreign };
}

test("a read at the standby shows no less than the one before at the primary", async () => {
  const { link, standbys, readTag } = await open();
  await standby.pauseReplay();
  try {
    const tag = await edit();
    link.cut();
    await until("the primary is read", async () => (await readTag()) === tag);
    link.heal();
    await until("the standby could be read", () => standbys.isUsable);
    for (let reads = 0; reads < 5; reads++) expect(await readTag()).toBe(tag);
  } finally {
    await standby.resumeReplay();
    await standby.catchUp();
  }
});

test("a read at one standby shows no less than the one before at another", async () => {
  const other = await createStandby(primary);
  try {
    const { standbys, readTag } = await open(standby.url, [other.url]);
    for (let round = 0; round < 4; round++) {
      await until("both can be read", () => standbys.list.every(({ problem }) => problem === undefined));
      // Reads change from the first standby to the other one with each odd second.
      const turnMs = Math.ceil((performance.now() + 900) / 2000) * 2000 + 1000;
      await Bun.sleep(turnMs - 150 - performance.now());
      await other.pauseReplay();
      try {
        const tag = await edit();
        await standby.catchUp();
        await until("the change is read", async () => (await readTag()) === tag);
        while (performance.now() < turnMs + 150) expect(await readTag()).toBe(tag);
      } finally {
        await other.resumeReplay();
        await other.catchUp();
      }
    }
  } finally {
    await other.remove();
  }
});

test("without touch with the primary for too long, only the primary is read", async () => {
  const { standbys, readTag, inTouch } = await open();
  inTouch.isCurrent = false;
  const { failed, standby: read } = standbys.counts;
  await readTag();
  expect(standbys.counts).toMatchObject({ failed: failed + 1, standby: read });
});

test("a change that a standby shows first is looked up at the primary, once", async () => {
  const { standbys, readTag } = await open();
  const before = standbys.counts.standby;
  const tag = await edit();
  await standby.catchUp();
  expect(await Promise.all([readTag(), readTag(), readTag()])).toEqual([tag, tag, tag]);
  expect(await readTag()).toBe(tag);
  expect(standbys.counts).toEqual({ standby: before + 4, behind: 0, unconfirmed: 0, failed: expect.any(Number) });
});

test("what another store has is not read, and is forgotten if it was while the primary did not answer", async () => {
  const other = await createStandby(primary);
  try {
    const { toPrimary, standbys, readTag, countForeign } = await open(other.url);
    const tag = await readTag();
    await other.promote();
    await using its = new SQL(other.url, { max: 1 });
    toPrimary.cut();
    const foreign = await untilWritten(() => edit(its));
    expect(await readTag()).toBe(foreign);
    expect(countForeign()).toBe(0);
    toPrimary.restore();
    await until("it is forgotten", () => countForeign() === 1);
    expect(standbys.list[0]?.problem).toBe("another store");
    expect(await readTag()).toBe(tag);
  } finally {
    await other.remove();
  }
});

test("a change that the primary does not have does not keep standbys from being read for long", async () => {
  const { database, standbys, readTag } = await open();
  // As a lost server showed it, or one of another store.
  standbys.note({ number: 1_000_000, recordedAt: new Date().toISOString() });
  const before = standbys.counts.standby;
  await readTag();
  expect(standbys.counts.standby).toBe(before);
  await until("the standby is read again", async () => {
    standbys.note(await findNewestChange(database));
    await readTag();
    return standbys.counts.standby > before;
  });
});

test("a standby that is slower than a read may be is not read", async () => {
  const { link, standbys, readTag } = await open();
  link.delay(700);
  await until("it is found to be slow", () => standbys.list[0]?.problem === "slow");
  const { failed, standby: read } = standbys.counts;
  await readTag();
  expect(standbys.counts).toMatchObject({ failed: failed + 1, standby: read });
  link.delay(0);
  await until("it is read again", () => standbys.isUsable);
});
