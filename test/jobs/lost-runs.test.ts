import { describe, expect, test } from "bun:test";
import { SQL } from "bun";
import type { Database } from "../../src/database/database.ts";
import type { Purpose } from "../../src/database/engines/engine.ts";
import { openDatabase } from "../../src/database/index.ts";
import { abandonRuns, claimRun, leaseExpired } from "../../src/jobs/claim.ts";
import { concludeRun, finishRun } from "../../src/jobs/runs.ts";
import { beginGeneration } from "../../src/personalization/import/generation-loading.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createStore, pds } from "../support/pds.ts";

// PostgreSQL keeps the locks of a transaction whose client is frozen or unreachable.
const job = "personalization-import";
const url = await createStore("postgres");
const admin = new SQL(url, { max: 1 });
cleanUp(() => admin.close());

async function open(purpose: Purpose, from = url, isPooled = false): Promise<Database> {
  const database = await openDatabase(from, purpose, { isPooled });
  cleanUp(() => database.close(0));
  return database;
}

/** A run whose transaction holds the brand's locks, and never goes on. */
async function loseRun(brand: string) {
  const database = await open("job");
  const run = (await claimRun(database, { job, brand }, 60)) ?? 0;
  const begun = Promise.withResolvers<void>();
  const lost = database
    .forRun(run)
    .inTransaction(async (transaction) => {
      await transaction.lock({ brand });
      begun.resolve();
      await new Promise(() => {});
    })
    .then(
      () => "committed",
      (error: Error) => error.message,
    );
  await begun.promise;
  return { run, lost, expire: () => admin`UPDATE run SET lease_until = '' WHERE id = ${run}` };
}

const isHeld = async (run: number) => {
  // Those of other tests on the same server may have the same number.
  const rows = await admin`
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${run} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  return rows.length > 0;
};

test("a run that has ended keeps its own reason, though its process was stopped because its lease was gone", async () => {
  const database = await open("scheduling");
  const run = (await claimRun(database, { job, brand: "ended" }, 60)) ?? 0;
  await finishRun(database, run, { outcome: "failed", counts: 0, reason: "pzlines.csv is empty" });
  const stopped = await concludeRun(database, run, { stopped: leaseExpired, exit: "exited with status 1", log: null });
  expect(stopped).toMatchObject({ outcome: "failed", reason: "pzlines.csv is empty" });
});

describe("the transaction of a lost run", () => {
  test("ends when another process abandons the run, and the next run of the brand goes on", async () => {
    const { run, lost, expire } = await loseRun("frozen");
    const other = await open("scheduling");
    expect(await abandonRuns(other)).toEqual({ runs: 0, problems: [] });
    expect(await isHeld(run)).toBe(true);
    await expire();
    expect(await abandonRuns(other)).toEqual({ runs: 1, problems: [] });
    expect(await isHeld(run)).toBe(false);
    const next = (await claimRun(other, { job, brand: "frozen" }, 60)) ?? 0;
    expect(await beginGeneration((await open("job")).forRun(next), "frozen", next)).toBeGreaterThan(0);
    expect(await lost).toMatch(/terminating connection|Connection closed/i);
  });

  test("does not hold up the imports of other brands", async () => {
    await loseRun("one");
    const database = await open("job");
    const run = (await claimRun(database, { job, brand: "another" }, 60)) ?? 0;
    expect(await beginGeneration(database.forRun(run), "another", run)).toBeGreaterThan(0);
  });

  test("stays while its connection is not the one that the run recorded", async () => {
    const { run, expire } = await loseRun("reused");
    await expire();
    const [{ backend }] = await admin`SELECT backend FROM run WHERE id = ${run}`;
    expect(backend).toMatch(/^\d+\/\d+\.\d+$/);
    await admin`UPDATE run SET backend = ${`${backend}1`} WHERE id = ${run}`;
    const other = await open("scheduling");
    expect(await abandonRuns(other)).toEqual({ runs: 1, problems: [] });
    expect(await isHeld(run)).toBe(true);
    await admin`UPDATE run SET backend = ${backend} WHERE id = ${run}`;
    await abandonRuns(other);
    expect(await isHeld(run)).toBe(false);
  });

  test("is reported when this role may not end it", async () => {
    const { run, expire } = await loseRun("foreign");
    await expire();
    const role = `lesser_${crypto.randomUUID().replaceAll("-", "")}`;
    await admin.unsafe(`CREATE ROLE ${role} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    const lesser = new URL(url);
    lesser.username = role;
    const { problems } = await abandonRuns(await open("scheduling", lesser.href));
    expect(problems).toEqual([
      expect.stringMatching(new RegExp(`^run ${run} was abandoned, .*grant this one pg_signal`)),
    ]);
    expect(await isHeld(run)).toBe(true);
    // An import on the command line says the same.
    const { stderr } = await pds(["import", "personalization", "/tmp"], { DATABASE_URL: lesser.href });
    expect(stderr).toContain(problems[0] ?? "");
    await admin.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
});

test("every connection limits its waits by its purpose, unless a pooler is in between", async () => {
  const limits = async (purpose: Purpose, isPooled: boolean) => {
    const { sql } = await open(purpose, url, isPooled);
    const shown = [];
    for (const name of ["lock_timeout", "statement_timeout", "client_connection_check_interval"]) {
      const [row = {}] = await sql.unsafe(`SHOW ${name}`);
      shown.push(...Object.values(row));
    }
    return shown;
  };
  expect(await limits("serving", false)).toEqual(["5s", "10s", "5s"]);
  expect(await limits("scheduling", false)).toEqual(["5s", "30s", "5s"]);
  expect(await limits("job", false)).toEqual(["5min", "1h", "5s"]);
  expect(await limits("serving", true)).toEqual(["0", "0", "0"]);
});

test("the server neither plans a lookup again for each request, nor starts more processes for it", async () => {
  const { sql } = await open("serving", url, false);
  const parameters = await sql`
    SELECT setting FROM pg_settings WHERE name IN ('plan_cache_mode', 'max_parallel_workers_per_gather') ORDER BY name`;
  expect(parameters.map(({ setting }: { setting: string }) => setting)).toEqual(["0", "force_generic_plan"]);
});

test("jobs and commands connect to DATABASE_DIRECT_URL, without the pooler", async () => {
  const environment = { DATABASE_URL: "postgres://pds@127.0.0.1:1/pooler", DATABASE_DIRECT_URL: url };
  expect(await pds(["jobs", "--json"], environment)).toMatchObject({ code: 0, stdout: "[]\n" });
  const { code, stderr } = await pds(["serve"], { ...environment, PORT: "0", ADMIN_PORT: "0" });
  expect(code).toBe(1);
  expect(stderr).toContain("DATABASE_URL: cannot open postgres://pds@127.0.0.1:1/pooler");
});
