import { expect, test } from "bun:test";
import { listChanges } from "../../src/database/change.ts";
import { findPosition } from "../../src/database/change-log.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { claimRun } from "../../src/jobs/claim.ts";
import { walkFragments } from "../../src/personalization/generation-walk.ts";
import { beginGeneration, finishGeneration, loadGroups } from "../../src/personalization/import/generation-loading.ts";
import { findChange, generations, makeCurrent } from "../../src/personalization/versions.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createStore, engines } from "../support/pds.ts";
import { until } from "../support/until.ts";

const brand = "acme";
const size = { rows: 0, skus: 0, styles: 0, choices: 0 };

test("an import that ends while another generation becomes current follows that one", async () => {
  const url = await createStore("postgres");
  const [database, rollingBack] = [await openDatabase(url), await openDatabase(url)];
  cleanUp(() => Promise.all([closeDatabase(database), closeDatabase(rollingBack)]));
  const run = (await claimRun(database, { job: "personalization-import", brand }, 60)) ?? 0;
  const load = async (from?: number) => {
    const id = await beginGeneration(database, brand, run);
    await finishGeneration(database, run, brand, id, size, "{}", { from, fingerprints: [1] });
    return id;
  };
  const first = await load();
  const second = await load(first);
  const third = await beginGeneration(database, brand, run);
  let ending: Promise<void> | undefined;
  await rollingBack.inTransaction(async (rollback) => {
    await rollback.lock({ brand });
    await makeCurrent(rollback, generations, brand, first, { from: second, fingerprints: [2] });
    ending = finishGeneration(database, run, brand, third, size, "{}", { from: second, fingerprints: [3] });
    await until("the import waits for the rollback", async () => {
      const [waiting] = await database.sql<{ count: number }[]>`
        SELECT CAST(count(*) AS INTEGER) AS count FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return waiting?.count === 1;
    });
  });
  await ending;

  expect(await findChange(database, generations, brand)).toEqual({ from: third, to: first });
  // The import was compared with the second one, so caches cannot rely on its fingerprints.
  const { number: last } = await findPosition(database);
  expect(await listChanges(database, last - 1, last)).toEqual([
    { number: last, noun: "personalization", fingerprints: undefined },
  ]);
});

for (const engine of engines) {
  test(`on ${engine}, large choice groups are read a few at a time`, async () => {
    const database = await openDatabase(await createStore(engine));
    cleanUp(() => closeDatabase(database));
    const run = (await claimRun(database, { job: "personalization-import", brand }, 60)) ?? 0;
    const generation = await beginGeneration(database, brand, run);
    const megabytes = [1, 1, 1, 0, 1, 6, 1];
    const groups = megabytes.map((size, index) => ({
      number: index + 1,
      name: `G${index}`,
      rows: new Uint8Array(size * 2 ** 20),
      styles: [],
    }));
    await loadGroups(database, generation, groups);
    const pages: number[][] = [];
    for await (const page of walkFragments(database, generation, "groups")) {
      pages.push(page.map(({ content }) => content.length / 2 ** 20));
    }
    expect(pages).toEqual([[1, 1, 1, 1], [6], [1]]);
  });
}
