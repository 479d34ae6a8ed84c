import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { skuOf, writeFeed } from "./support/feed.ts";
import { createDatabase, withPostgres } from "./support/postgres.ts";
import { microseconds, print } from "./support/print.ts";
import { readDuring, readsPerSecond } from "./support/reads.ts";
import { writeRuns } from "./support/runs.ts";
import { runCommand, withService } from "./support/service.ts";
import { compareMedians, median, percentile } from "./support/statistics.ts";

// Measures the history operation with a million runs, and reads beside a job that hangs:
// `npm run bench -- jobs [RUNS]`.
const manyRuns = Number(process.argv[2] ?? 1_000_000);
const fewRuns = 1000;

/** Durations of 1,000 requests for the history, one after the other. */
async function requestHistories(url: string): Promise<number[]> {
  const durations: number[] = [];
  for (let request = 0; request < 1000; request++) {
    const startedMs = performance.now();
    const { histories } = (await (await fetch(`${url}/histories/desc`)).json()) as { histories: object[] };
    durations.push(performance.now() - startedMs);
    if (histories.length !== 10) throw new Error(`expected 10 history records, got ${histories.length}`);
  }
  return durations;
}

async function compareHistories(few: string, many: string): Promise<void> {
  await withService({ DATABASE_URL: few }, (fewUrl) =>
    withService({ DATABASE_URL: many }, async (manyUrl) => {
      const urls = [fewUrl, manyUrl];
      const [fewMs = 0, manyMs = 0] = await compareMedians(urls.map((url) => () => requestHistories(url)));
      print(
        `  histories/desc: ${microseconds(fewMs)} at ${fewRuns} runs, ${microseconds(manyMs)} at ${manyRuns}: ${(manyMs / fewMs).toFixed(2)} ×`,
      );
    }),
  );
}

/** Reads random SKUs at a steady rate. @returns the durations in milliseconds */
function readFor(url: string, skus: number, durationMs: number): Promise<number[]> {
  return readDuring(Bun.sleep(durationMs), async () => {
    const response = await fetch(`${url}/products/pz/${skuOf(Math.floor(Math.random() * skus))}`);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a read returned status ${response.status}`);
  });
}

/**
 * Measures reads beside a job that hangs in each run, is ended at its limit of 2 s, and starts
 * again at its next scheduled time.
 */
async function compareReads(url: string, feed: string, folder: string): Promise<void> {
  const skus = 10_000;
  await using platform = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Promise<Response>(() => {}) });
  const environment = {
    DATABASE_URL: url,
    SHOPIFY_API_URL: platform.url.origin,
    SHOPIFY_ACCESS_TOKEN: "token",
    SHOP_DOMAIN: "bench.example",
  };
  const config = join(folder, "hanging.toml");
  await writeFile(config, `[jobs.catalog-sync]\nschedule = "*/3 * * * * *"\nlimit_seconds = 2\n`);
  await runCommand(["import", "personalization", feed], { DATABASE_URL: url });

  const ratios: number[] = [];
  await withService({ ...environment, PDS_CONFIG: "/dev/null" }, (quietUrl) =>
    withService({ ...environment, PDS_CONFIG: config }, async (hangingUrl) => {
      await readFor(quietUrl, skus, 3000);
      await readFor(hangingUrl, skus, 3000);
      for (let round = 0; round < 3; round++) {
        const withoutJobs = percentile(await readFor(quietUrl, skus, 9000), 0.99);
        const withHangingJob = percentile(await readFor(hangingUrl, skus, 9000), 0.99);
        ratios.push(withHangingJob / withoutJobs);
        print(
          `  reads, p99 at ${readsPerSecond}/s: ${withoutJobs.toFixed(2)} ms without jobs, ${withHangingJob.toFixed(2)} ms beside a hanging job`,
        );
      }
    }),
  );
  await using sql = new SQL(url, { max: 1 });
  const runs = await sql`SELECT outcome, reason, started_at, finished_at FROM run WHERE scheduled_at IS NOT NULL`;
  const ended = runs.filter(({ reason }: { reason: string }) => reason?.includes("limit of 2 s"));
  print(`  median ratio: ${median(ratios).toFixed(2)} ×; ${runs.length} runs, ${ended.length} ended at their limit`);
}

await withPostgres([], async (folder, serverUrl) => {
  const feed = await writeFeed(join(folder, "feed"), 10_000, { status: "A" });
  const newStores: Record<string, (name: string) => Promise<string>> = {
    sqlite: async (name) => `sqlite:${join(folder, `${name}.sqlite`)}`,
    postgres: (name) => createDatabase(serverUrl, name),
  };
  for (const [engine, newStore] of Object.entries(newStores)) {
    print(engine);
    const [few, many, reads] = [await newStore("few"), await newStore("many"), await newStore("reads")];
    await writeRuns(few, fewRuns);
    await writeRuns(many, manyRuns);
    await compareHistories(few, many);
    await compareReads(reads, feed, folder);
  }
});
