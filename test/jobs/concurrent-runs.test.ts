import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { z } from "zod";
import { createLog } from "../../src/base/log.ts";
import { createFetch } from "../../src/base/outgoing.ts";
import { Slots } from "../../src/base/slots.ts";
import { openDatabase } from "../../src/database/index.ts";
import { cancelRun, claimRun } from "../../src/jobs/claim.ts";
import type { PlannedJob } from "../../src/jobs/job.ts";
import { Monitors } from "../../src/jobs/monitors.ts";
import { planShape } from "../../src/jobs/options.ts";
import { toPlan } from "../../src/jobs/plan.ts";
import { supervise } from "../../src/jobs/supervisor.ts";
import { cleanUp } from "../support/clean-up.ts";
import { writeFeed } from "../support/feed.ts";
import { connectTo, createMigratedStore, enginesOf, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { startSilence } from "../support/silence.ts";
import { until } from "../support/until.ts";

const folder = await temporaryFolder();
const source = await writeFeed(folder, "feed");

const brands = Array.from({ length: 6 }, (_, index) => `brand-${index}`);
const [config = ""] = await writeFiles(folder, {
  "pds.toml": brands
    .map(
      (brand) => `
        [[jobs.personalization-import]]
        brand = "${brand}"
        source = "${source}"
        settle_seconds = 0
        schedule = "* * * * * *"`,
    )
    .join("\n"),
});

interface Run {
  readonly brand: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly outcome: string;
  readonly scheduledAt: string | null;
}

const readFinished = (sql: SQL): Promise<Run[]> => sql<Run[]>`
  SELECT brand, scheduled_at AS ${sql("scheduledAt")}, started_at AS ${sql("startedAt")},
    finished_at AS ${sql("finishedAt")}, outcome
  FROM run WHERE finished_at IS NOT NULL ORDER BY id`;

test.each(enginesOf("sqlite"))(
  "on %s, no more runs than MAX_RUNS go on at the same time in a process, and each brand has its turn",
  async (engine) => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    await using _ = await serve({ DATABASE_URL: url, PDS_CONFIG: config, MAX_RUNS: "2" });
    let runs: Run[] = [];
    await until("each brand ran twice on schedule", async () => {
      runs = await readFinished(sql);
      return brands.every((brand) => runs.filter((run) => run.brand === brand && run.scheduledAt !== null).length >= 2);
    });
    expect(runs.filter(({ outcome }) => outcome !== "succeeded")).toEqual([]);
    const atTheSameTime = runs.map(
      ({ startedAt }) => runs.filter((other) => other.startedAt <= startedAt && other.finishedAt > startedAt).length,
    );
    expect(Math.max(...atTheSameTime)).toBe(2);
  },
  60_000,
);

test("what is due is decided when it is the job's turn, not before it waited for a slot", async () => {
  const silence = startSilence();
  const [PDS_CONFIG = ""] = await writeFiles(folder, {
    "waiting.toml": `
      [[jobs.personalization-import]]
      brand = "hangs"
      source = "${silence.url.href}"
      limit_seconds = 4
      [[jobs.personalization-import]]
      brand = "waits"
      source = "${source}"
      settle_seconds = 0
      schedule = "* * * * * *"`,
  });
  const url = await createMigratedStore("sqlite");
  await using sql = await connectTo(url);
  await using _ = await serve({ DATABASE_URL: url, PDS_CONFIG, MAX_RUNS: "1" });
  let hanging: Run | undefined;
  let waiting: Run[] = [];
  await until("the other brand ran on schedule after the one that hangs", async () => {
    const runs = await readFinished(sql);
    hanging = runs.find(({ brand }) => brand === "hangs");
    const since = hanging?.startedAt;
    waiting = runs.filter((run) => since !== undefined && run.startedAt > since && run.scheduledAt !== null);
    return waiting.length > 0;
  });
  const latestMs = Date.parse(hanging?.finishedAt ?? "") - 1000;
  expect(waiting.filter(({ scheduledAt }) => Date.parse(scheduledAt ?? "") < latestMs)).toEqual([]);
}, 60_000);

/** A claimed run whose process waits for the only slot. */
async function superviseWaiting() {
  const database = await openDatabase(await createMigratedStore("sqlite"), "scheduling");
  cleanUp(() => database.close(0));
  const plan = toPlan(z.strictObject(planShape).parse({}));
  const job: PlannedJob = { name: "catalog-sync", brand: "acme", plan, source: "", work: async () => {} };
  const id = (await claimRun(database, { job: job.name, brand: job.brand }, 30)) ?? 0;
  const stopping = new AbortController();
  const slots = new Slots(1);
  expect(await slots.take(stopping.signal)).toBeDefined();
  const context = {
    database,
    monitors: new Monitors(await createLog("silent"), [], createFetch({})),
    config: { leaseSeconds: 30 },
    signal: stopping.signal,
  };
  const output = { arguments: [], stdout: "ignore", stderr: "pipe" } as const;
  return { database, id, stopping, ended: supervise(job, id, context, output, slots) };
}

test("a run that waits for its turn can be cancelled, and has no process", async () => {
  const { database, id, ended } = await superviseWaiting();
  await cancelRun(database, id, "anna@host");
  expect(await ended).toMatchObject({ outcome: "cancelled", reason: "cancelled by anna@host", log: null });
});

test("a run that waits for its turn ends with the service", async () => {
  const { stopping, ended } = await superviseWaiting();
  stopping.abort(new Error("the service was stopped"));
  expect(await ended).toMatchObject({ outcome: "failed", reason: "the service was stopped", log: null });
});

test("a run whose process finds no free connection says so in the history", async () => {
  const url = await createMigratedStore("postgres");
  await using sql = await connectTo(url);
  const role = `limited_${crypto.randomUUID().slice(0, 8)}`;
  // Enough for the process that supervises the run, and not for that of the run.
  await sql.unsafe(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 4; GRANT pds TO ${role}`);
  const limited = new URL(url);
  limited.username = role;
  try {
    const environment = { DATABASE_URL: limited.href, PDS_CONFIG: config };
    const { code, stderr } = await pds(["run", "personalization-import", "--brand", "brand-0"], environment);
    expect({ code, stderr }).toMatchObject({ code: 1 });
    const [run] = await sql`SELECT outcome, reason FROM run`;
    expect(run).toEqual({
      outcome: "failed",
      reason: expect.stringMatching(/^its process exited with status 1: .*too many connections/),
    });
  } finally {
    await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
