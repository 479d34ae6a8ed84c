import { expect, test } from "bun:test";
import { SQL } from "bun";
import { tablesOf } from "../../src/database/generation-tables.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { claimRun } from "../../src/jobs/claim.ts";
import { finishRun } from "../../src/jobs/runs.ts";
import { removeMarkedGenerations, removePersonalization } from "../../src/personalization/generation-removal.ts";
import {
  beginGeneration,
  finishGeneration,
  loadSkus,
  type SkuRow,
} from "../../src/personalization/import/generation-loading.ts";
import { PersonalizationReader } from "../../src/personalization/reader.ts";
import { cleanUp } from "../support/clean-up.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import { createStore } from "../support/pds.ts";
import { until } from "../support/until.ts";

const url = await createStore("postgres");
const serving = await openDatabase(url, "serving");
cleanUp(() => closeDatabase(serving));

test("requests do not wait for the removal of a generation that a dump reads", async () => {
  const database = await openDatabase(url);
  cleanUp(() => closeDatabase(database));
  const skus: SkuRow[] = [{ sku: "MUG", lines: new Uint8Array() }];
  const load = async (brand: string) => {
    const run = (await claimRun(database, { job: "personalization-import", brand }, 60)) ?? 0;
    const id = await beginGeneration(database, brand, run);
    await loadSkus(database, id, skus);
    const size = { rows: 1, skus: 1, styles: 0, choices: 0 };
    await finishGeneration(database, run, brand, id, size, "{}", { from: undefined, fingerprints: undefined });
    await finishRun(database, run, { outcome: "succeeded", counts: 1 });
    return id;
  };
  await load("acme");
  const removed = await load("other");
  const reader = new PersonalizationReader("acme");
  // Its list of generations names the table from here on.
  expect(await reader.find(serving, "MUG")).toMatchObject({ isEmpty: false });

  await using dump = new SQL(url, { max: 1 });
  await dump.begin(async (transaction) => {
    await transaction.unsafe(`SELECT 1 FROM ${tablesOf(removed).skus}`);
    let isOver = false;
    const removal = removePersonalization(database, "other").finally(() => {
      isOver = true;
    });
    await until("the removal waits for the dump, or has given up", async () => {
      const waiting = await database.sql`
        SELECT 1 FROM pg_locks WHERE NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      return isOver || waiting.length > 0;
    });
    expect(await reader.find(serving, "MUG")).toMatchObject({ isEmpty: false });
    expect(await removal).toEqual({ generations: 1, presentations: 0 });
  });

  expect(await listGenerationTables(dump)).toContain(tablesOf(removed).skus);
  await removeMarkedGenerations(database, "other");
  expect(await listGenerationTables(dump)).not.toContain(tablesOf(removed).skus);
});

test("connections that hold many prepared statements are replaced, and finish what they have begun", async () => {
  const slow = serving.read<{ done: number }>("SELECT 1 AS done FROM pg_sleep(0.5)", []);
  // As with hundreds of brands, of which each import changes the statement that finds SKUs.
  for (let index = 0; index < 80; index++) {
    const statement = `SELECT CAST($1 AS INTEGER) AS value /* ${`${index} `.repeat(5000)} */`;
    expect(await serving.read<{ value: number }>(statement, [index])).toEqual([{ value: index }]);
  }
  expect(await slow).toEqual([{ done: 1 }]);
  const [prepared] = await serving.read<{ kilobytes: number }>(
    "SELECT CAST(sum(length(statement)) / 1024 AS INTEGER) AS kilobytes FROM pg_prepared_statements",
    [],
  );
  expect(prepared?.kilobytes).toBeLessThanOrEqual(256);
});
