import { expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { claimRun } from "../../src/jobs/claim.ts";
import { finishRun } from "../../src/jobs/runs.ts";
import { createStore, engines } from "../support/pds.ts";

// Two replicas follow the first runs of a job. Each decides by the newest run, and claims later.
test.each([...engines])(
  "on %s, an attempt of a first run is claimed once, also if it failed meanwhile",
  async (engine) => {
    const database = await openDatabase(await createStore(engine));
    const job = { job: "personalization-import", brand: "acme" };
    const first = { newest: 0, isFirst: true, wasRunning: false };
    const run = (await claimRun(database, { ...job, attempt: 1, basis: first }, 60)) ?? 0;
    const whileRunning = { newest: run, isFirst: true, wasRunning: true };
    expect(await claimRun(database, { ...job, attempt: 1, basis: whileRunning }, 60)).toBeUndefined();
    await finishRun(database, run, { outcome: "failed", counts: 0 });
    expect(await claimRun(database, { ...job, attempt: 1, basis: whileRunning }, 60)).toBeUndefined();

    const afterIt = { newest: run, isFirst: true, wasRunning: false };
    const retry = (await claimRun(database, { ...job, attempt: 2, basis: afterIt }, 60)) ?? 0;
    await database.sql`UPDATE run SET lease_until = '' WHERE id = ${retry}`;
    const lost = { newest: retry, isFirst: true, wasRunning: true };
    expect(await claimRun(database, { ...job, attempt: 2, basis: lost }, 60)).toBeGreaterThan(retry);
    await closeDatabase(database);
  },
);
