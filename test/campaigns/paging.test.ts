import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  begin,
  createStore,
  enginesOf,
  isCampaign,
  killRun,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { environmentOf, getAnswers, readAnswers, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

/**
 * Without bulk operations, the whole catalog is read within the points of the smallest plan: a
 * bucket of 2,000 points, which is refilled faster here. Time is counted in points.
 */
const products = isCampaign ? 20_000 : 2000;
const restoreRate = isCampaign ? 400 : 1500;
const kills = 3;
setDefaultTimeout(isCampaign ? 1_800_000 : 180_000);
const bucket = { maximumAvailable: 2000, restoreRate };

const [configPath = ""] = await writeFiles(await temporaryFolder(), {
  "pds.toml": "[jobs.catalog-reconcile]\nschedule = 'off'\n",
});

for (const engine of enginesOf("postgres")) {
  const title = `on ${engine}, ${products} products are read page by page within 1.1 times the points, over three kills`;
  test(title, async () => {
    const platform = startPlatform({ products, variants: [1, 8], images: [0, 6], metafields: [4, 16], bucket });
    const { counters, catalog, faults } = platform;
    faults.add({ kind: "bulkFailed", count: 1000 });
    const environment = {
      ...environmentOf(platform),
      DATABASE_URL: await createStore(engine),
      PDS_CONFIG: configPath,
    };
    const run = () => begin(["run", "catalog-reconcile"], { LOG_LEVEL: "error", ...environment });
    const pages = () => counters.requests.get("ProductsPage") ?? 0;
    const pagesInAll = products / 50;

    const startedMs = performance.now();
    for (let kill = 1; kill <= kills; kill++) {
      const child = run();
      const enough = pages() + pagesInAll / (kills + 1);
      await until("it has read a part", () => pages() >= enough, 600_000);
      await killRun(child, environment.DATABASE_URL);
    }
    const last = run();
    const [code, stderr] = await Promise.all([last.exited, new Response(last.stderr).text()]);
    const seconds = (performance.now() - startedMs) / 1000;
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });

    // What a run that is not killed spends: the list and the pages.
    const of = (operation: string) => counters.points.get(operation) ?? 0;
    const listed = of("ProductsUpdatedSince") / (kills + 1);
    const ideal = (of("ProductsPage") / pages()) * pagesInAll + listed;
    const spent = counters.pointsSpent;
    const figures = { engine, products, pages: pages(), spent, ratio: spent / ideal };
    const times = { seconds, ofPoints: spent / restoreRate, onSmallestPlanS: spent / 100 };
    process.stdout.write(`${JSON.stringify({ ...figures, ...times })}\n`);
    // Each start looks for refused fields, and each kill loses at most the page that is being read.
    expect(pages()).toBeLessThanOrEqual(pagesInAll + (kills + 1) + 2 * kills);
    // In a small catalog, what each start spends is a larger share.
    expect(spent).toBeLessThan(ideal * (isCampaign ? 1.1 : 1.3));
    expect(counters.requests.get("ProductById")).toBeUndefined();
    expect(counters.throttled).toBe(0);

    const service = await serve({ ...environment, SCHEDULER: "off", LOOKUPS_PER_MINUTE: "0", MEMORY_MEGABYTES: "0" });
    afterAll(() => service.stop());
    const ids = Array.from({ length: 100 }, (_, index) => catalog.idAt(Math.floor((index * products) / 100)));
    const [answers, expected] = [await getAnswers(service, ids), await readAnswers(platform, ids)];
    expect(ids.filter((id) => answers.get(id) === undefined || answers.get(id) !== expected.get(id))).toEqual([]);
  });
}
