import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type OpenConsole, openConsole, rowsOf } from "../support/console.ts";
import { createMigratedStore, type Engine, enginesOf } from "../support/pds.ts";

const storesOf = (engine: Engine) =>
  Promise.all(enginesOf(engine).map(async (engine) => ({ engine, url: await createMigratedStore(engine) })));
const stores = { timeline: await storesOf("postgres"), list: await storesOf("sqlite") };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const now = Date.now();

interface StoredRun {
  readonly job: string;
  readonly agoMs: number;
  /** Undefined while it is running. */
  readonly tookMs?: number;
  readonly outcome?: string;
  readonly reason?: string | undefined;
}

/** Stores runs as a service does, the oldest first. */
async function storeRuns({ database: { sql } }: OpenConsole, runs: readonly StoredRun[]): Promise<void> {
  for (const { job, agoMs, tookMs, outcome = null, reason = null } of runs.toSorted((a, b) => b.agoMs - a.agoMs)) {
    const [begin, end] = [now - agoMs, tookMs === undefined ? undefined : now - agoMs + tookMs];
    await sql`
      INSERT INTO run (job, brand, started_at, finished_at, outcome, reason, lease_until, lease_seconds)
      VALUES (${job}, 'B', ${new Date(begin).toISOString()}, ${end === undefined ? null : new Date(end).toISOString()},
        ${outcome}, ${reason}, '9999', 3600)`;
  }
}

interface Mark {
  readonly id: number;
  readonly title: string;
  readonly status: string;
  /** The widest part, in steps. */
  readonly width: number;
}

/** The marks of each job of the timeline. */
function timelineOf(html: string): Map<string, Mark[]> {
  const list = html.match(/<ul class="timeline">(.*?)<\/ul>/s)?.[1] ?? "";
  const rows = [...list.matchAll(/<li id="timeline:([^:"]*):B">(.*?)<\/li>/gs)];
  return new Map(rows.map(([, job = "", row = ""]) => [job, marksOf(row)]));
}

const marksOf = (row: string): Mark[] =>
  [...row.matchAll(/<a href="\/runs\/(\d+)" tabindex="-1"><path class="mark (\w+)" d="([^"]*)"><title>([^<]*)</g)].map(
    ([, id, status = "", shape = "", title = ""]) => ({
      id: Number(id),
      status,
      title,
      width: Math.max(...[...shape.matchAll(/h([\d.]+)/g)].map(([, width]) => Number(width))),
    }),
  );

describe.each(stores.timeline)("the timeline of runs on $engine", ({ url }) => {
  let opened: OpenConsole;
  /** The middle of a step of ten minutes, so that runs a minute apart are in the same one. */
  const middle = (stepsAgo: number) => now - (Math.floor(now / (10 * minuteMs)) - stepsAgo + 0.5) * 10 * minuteMs;

  beforeAll(async () => {
    opened = await openConsole(url, "B");
    await storeRuns(opened, [
      { job: "gone", agoMs: 40 * 24 * hourMs, tookMs: minuteMs, outcome: "failed" },
      { job: "long", agoMs: 25 * hourMs, tookMs: 2 * hourMs, outcome: "succeeded" },
      { job: "long", agoMs: 10 * hourMs },
      // A wrong clock stored these.
      { job: "long", agoMs: -24 * hourMs, tookMs: minuteMs, outcome: "failed" },
      { job: "busy", agoMs: -72 * hourMs, tookMs: minuteMs, outcome: "failed" },
      { job: "busy", agoMs: middle(30), tookMs: 1000, outcome: "succeeded" },
      { job: "busy", agoMs: middle(30) - minuteMs, tookMs: 1000, outcome: "failed", reason: "unplugged" },
      { job: "busy", agoMs: middle(30) - 2 * minuteMs, tookMs: 1000, outcome: "cancelled" },
      { job: "busy", agoMs: middle(20), tookMs: 1000, outcome: "abandoned" },
      { job: "busy", agoMs: middle(20) - minuteMs, tookMs: 1000, outcome: "cancelled" },
      { job: "again", agoMs: middle(40), tookMs: 1000, outcome: "failed" },
      { job: "again", agoMs: middle(40) - minuteMs, tookMs: 1000, outcome: "succeeded" },
      { job: "again", agoMs: middle(20) - 2 * minuteMs, tookMs: 1000, outcome: "cancelled" },
    ]);
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test("has the worst run of each step, with its length, and the job with the newest failure first", async () => {
    for (const path of ["/", "/runs"]) {
      const rows = timelineOf(await opened.load(path));
      expect([...rows.keys()]).toEqual(["busy", "again", "gone", "long"]);
      expect(rows.get("gone")).toEqual([]);
      expect(rows.get("busy")?.map(({ status }) => status)).toEqual(["failed", "abandoned"]);
      expect(rows.get("busy")?.map(({ title }) => title)).toEqual([
        expect.stringMatching(/^failed: .* UTC, 1\.0 s$/),
        expect.stringMatching(/^abandoned: .* UTC, 1\.0 s$/),
      ]);
      const [ended, running] = rows.get("long") ?? [];
      expect([ended?.status, running?.status]).toEqual(["succeeded", "running"]);
      // Of its two hours, the last one is within the period, which begins with a whole step.
      expect(ended?.width).toBeWithin(4.99, 6.01);
      expect(running?.width).toBeGreaterThanOrEqual(60);
    }
  });

  test("links each mark and the newest failure to their runs", async () => {
    const html = await opened.load("/runs?job=busy");
    const marks = timelineOf(html).get("busy") ?? [];
    const { sql } = opened.database;
    for (const { id, status } of marks) {
      expect(await sql`SELECT job, outcome FROM run WHERE id = ${id}`).toEqual([{ job: "busy", outcome: status }]);
    }
    expect(html).toMatch(new RegExp(`<a href="/runs/${marks[0]?.id}" class="status failed">failed \\d+ \\w+ ago</a>`));
    expect(await opened.load("/runs?job=gone")).toMatch(/class="status failed">failed 40 days ago<\/a>/);
  });

  test("marks a failure after which the job succeeded again, but does not say that it needs attention", async () => {
    const html = await opened.load("/runs?job=again");
    const marks = timelineOf(html).get("again") ?? [];
    expect(marks.map(({ status }) => status)).toEqual(["failed", "cancelled"]);
    expect(html).toMatch(new RegExp(`<a href="/runs/${marks[0]?.id}" class="status">last failed \\d+ hours ago</a>`));
  });

  test("has other periods, which filters keep", async () => {
    const html = await opened.load("/runs?period=7d&job=long");
    expect(timelineOf(html).get("long")?.[0]?.width).toBe(2);
    expect(html).toContain('<input type="hidden" name="period" value="7d"/>');
    expect(html).toContain('<a href="/runs?period=30d&amp;job=long">30 days</a>');
    expect([...timelineOf(await opened.load("/runs?period=nonsense")).keys()]).toHaveLength(4);
    expect(timelineOf(await opened.load("/runs?before=3"))).toBeEmpty();
    expect([...timelineOf(await opened.load("/runs?before=0x3")).keys()]).toHaveLength(4);
  });
});

describe.each(stores.list)("runs that fail for the same reason on $engine", ({ url }) => {
  let opened: OpenConsole;
  const minutely = (job: string, count: number, run: (index: number) => Partial<StoredRun>): StoredRun[] =>
    Array.from({ length: count }, (_, index) => ({
      job,
      agoMs: (index + 1) * minuteMs,
      tookMs: 1000,
      outcome: "failed",
      reason: "unplugged",
      ...run(index),
    }));

  beforeAll(async () => {
    opened = await openConsole(url, "B");
    await storeRuns(opened, [
      // The newest first: 10 failures, a success, and 20 other failures.
      ...minutely("folded", 31, (index) =>
        index < 10 ? {} : index === 10 ? { outcome: "succeeded", reason: undefined } : { reason: "unplugged again" },
      ),
      ...minutely("between", 31, (index) => ({
        outcome: "succeeded",
        reason: undefined,
        agoMs: (index + 1.5) * minuteMs,
      })),
      ...minutely("various", 200, (index) => ({ reason: `${index % 2}`, agoMs: (index + 100) * minuteMs })),
      ...minutely("endless", 1200, (index) => ({ agoMs: (index + 400) * minuteMs })),
    ]);
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test("are one row, which links to each of them", async () => {
    const html = await opened.load("/runs?job=folded");
    const rows = rowsOf(html).map(([, outcome = ""]) => outcome);
    expect(rows).toEqual([
      expect.stringMatching(/^failed 10 times since 20\S+ \S+ UTC Earlier runs \d+( , \d+){8}$/),
      "succeeded",
      expect.stringMatching(/^failed 20 times since 20\S+ \S+ UTC Earlier runs \d+( , \d+){18}$/),
    ]);
    const since = new Date(now - 10 * minuteMs).toISOString();
    expect(rows[0]).toContain(`${since.slice(0, 10)} ${since.slice(11, 19)} UTC`);
  });

  test("are each a row when the runs between them are not shown", async () => {
    expect(rowsOf(await opened.load("/runs?job=folded&outcome=failed"))).toHaveLength(30);
    expect(rowsOf(await opened.load("/runs?job=folded&text=unplugged"))).toHaveLength(30);
  });

  test("are on exactly one page each", async () => {
    const { sql } = opened.database;
    for (const job of ["", "various", "endless"]) {
      const found: number[] = [];
      let path: string | undefined = `/runs?job=${job}`;
      for (; path !== undefined; ) {
        const html = await opened.load(path);
        const rows = rowsOf(html);
        expect(rows.length).toBeLessThanOrEqual(50);
        path = html.match(/<a href="([^"]*)">Older runs<\/a>/)?.[1]?.replaceAll("&amp;", "&");
        // Only the last row of a job may go on.
        const goesOn = rows.filter(([, outcome = ""]) => outcome.includes("or earlier"));
        if (path === undefined) expect(goesOn).toEqual([]);
        for (const [id, outcome = ""] of rows) {
          const earlier = outcome.match(/Earlier runs (.*)/)?.[1]?.split(" , ") ?? [];
          found.push(...[id ?? "", ...earlier].map(Number));
        }
      }
      const stored = await sql<{ id: number }[]>`SELECT id FROM run WHERE job = ${job} OR ${job} = ''`;
      expect(found.toSorted((a, b) => a - b)).toEqual(stored.map(({ id }) => id).toSorted((a, b) => a - b));
    }
    expect(rowsOf(await opened.load("/runs?job=endless"))).toEqual([
      expect.arrayContaining([expect.stringContaining("failed 500 times since")]),
    ]);
  });
});
