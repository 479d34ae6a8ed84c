import { expect, test } from "bun:test";
import { readConfig } from "../../src/config/index.ts";
import { manualImportOptions } from "../../src/config/manual-options.ts";
import { type Progress, Reporter } from "../../src/jobs/work.ts";
import { personalizationImport } from "../../src/personalization/import/import.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { temporaryFolder } from "../support/pds.ts";

test("the progress of storing is the share of the accepted rows that has been merged", async () => {
  const line = (sku: number, status: string) => `SKU-${sku},STYLE,1,${status}\n`;
  const skus = Array.from({ length: 50_000 }, (_, index) => index);
  const lines = `sku_id,style_code,style_display_seq,style_sku_status\n${skus.map((sku) => line(sku, "A")).join("")}`;
  // A row that is replaced is merged, too.
  const repeated = skus.slice(0, 20_000).map((sku) => line(sku, "I"));
  const feed = await writeFeed(await temporaryFolder(), "feed", {
    ...feedFiles,
    "pzlines.csv": lines + repeated.join(""),
  });
  const config = readConfig({ PDS_CONFIG: "/dev/null" });
  const reporter = new Reporter();
  const seen: Progress[] = [];
  await personalizationImport(manualImportOptions(config, feed, "acme"), config, { isManual: true, isForced: false })({
    database: undefined,
    run: undefined,
    isDryRun: true,
    brand: "acme",
    reporter,
    signal: new AbortController().signal,
    onProgress: (progress) => seen.push(progress),
  });
  const storing = seen.filter(({ file }) => file === "storing");
  const { accepted, duplicates } = reporter.report;
  expect(storing.map(({ total }) => total)).toEqual(storing.map(() => accepted + duplicates));
  const done = storing.map((progress) => progress.done);
  expect(done).toEqual(done.toSorted((one, other) => one - other));
  expect(done[0]).toBeLessThan(accepted);
  expect(storing.at(-1)).toMatchObject({ isDone: true, rows: accepted + duplicates, done: accepted + duplicates });
});
