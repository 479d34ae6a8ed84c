import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { createPostgres } from "../test/support/postgres.ts";
import { skuOf, writeFeed } from "./feed.ts";
import { writeRuns } from "./runs.ts";
import { main, percentile, serving } from "./service.ts";

// The history beside one of a million runs, and what readers notice of a job that hangs: `npm run bench:jobs -- [RUNS]`.
const manyRuns = Number(process.argv[2] ?? 1_000_000);
const fewRuns = 1000;

const print = (line: string) => process.stdout.write(`${line}\n`);
const microseconds = (ms: number) => `${(ms * 1000).toFixed(0)} µs`;

/** The operation at two sizes, in turns: medians of one request after the other. */
async function compareHistories(few: string, many: string): Promise<void> {
  await serving({ DATABASE_URL: few }, (fewUrl) =>
    serving({ DATABASE_URL: many }, async (manyUrl) => {
      const medians: [number[], number[]] = [[], []];
      for (let round = 0; round < 12; round++) {
        for (const [index, url] of [fewUrl, manyUrl].entries()) {
          const times = [];
          for (let ask = 0; ask < 1000; ask++) {
            const begun = performance.now();
            const { histories } = (await (await fetch(`${url}/histories/desc`)).json()) as { histories: object[] };
            times.push(performance.now() - begun);
            if (histories.length !== 10) throw new Error("the history is not there");
          }
          // The first rounds warm up.
          if (round > 1) medians[index]?.push(percentile(times, 0.5));
        }
      }
      const [fewMs = 0, manyMs = 0] = medians.map((of) => percentile(of, 0.5));
      print(
        `  histories/desc: ${microseconds(fewMs)} at ${fewRuns} runs, ${microseconds(manyMs)} at ${manyRuns}: ${(manyMs / fewMs).toFixed(2)} ×`,
      );
    }),
  );
}

const readsPerSecond = 200;

/** How long answers take that are asked for at a steady rate. */
async function read(url: string, skus: number, forMs: number): Promise<number[]> {
  const times: number[] = [];
  const ask = async (sku: string) => {
    const begun = performance.now();
    const response = await fetch(`${url}/products/pz/${sku}`);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a read answered ${response.status}`);
    times.push(performance.now() - begun);
  };
  const asked: Promise<void>[] = [];
  for (const begun = performance.now(); performance.now() - begun < forMs; await Bun.sleep(1)) {
    while (asked.length < ((performance.now() - begun) / 1000) * readsPerSecond) {
      asked.push(ask(skuOf(Math.floor(Math.random() * skus))));
    }
  }
  await Promise.all(asked);
  return times;
}

/** A job that hangs in each run, is ended at its limit of 2 s and begun again at the next time of its schedule, beside readers. */
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
  const importing = Bun.spawn([process.execPath, main, "import", "personalization", feed], {
    env: { PDS_CONFIG: "/dev/null", DATABASE_URL: url },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await importing.exited) !== 0) throw new Error("the feed was not imported");

  const quiet = (work: (url: string) => Promise<void>) => serving({ ...environment, PDS_CONFIG: "/dev/null" }, work);
  const hanging = (work: (url: string) => Promise<void>) => serving({ ...environment, PDS_CONFIG: config }, work);
  const ratios: number[] = [];
  await quiet((quietUrl) =>
    hanging(async (hangingUrl) => {
      await read(quietUrl, skus, 3000);
      await read(hangingUrl, skus, 3000);
      for (let round = 0; round < 3; round++) {
        const alone = percentile(await read(quietUrl, skus, 9000), 0.99);
        const beside = percentile(await read(hangingUrl, skus, 9000), 0.99);
        ratios.push(beside / alone);
        print(
          `  reads, p99 at ${readsPerSecond}/s: ${alone.toFixed(2)} ms without jobs, ${beside.toFixed(2)} ms beside a job that hangs`,
        );
      }
    }),
  );
  await using sql = new SQL(url, { max: 1 });
  const runs = await sql`SELECT outcome, reason, started_at, finished_at FROM run WHERE scheduled_at IS NOT NULL`;
  const ended = runs.filter(({ reason }: { reason: string }) => reason?.includes("limit of 2 s"));
  print(
    `  the median of these: ${percentile(ratios, 0.5).toFixed(2)} ×; ${runs.length} runs, ${ended.length} ended at their limit`,
  );
}

const folder = await mkdtemp(join(tmpdir(), "pds-bench-"));
const postgres = await createPostgres();
try {
  const feed = await writeFeed(join(folder, "feed"), 10_000, "A");
  const databases: Record<string, (name: string) => Promise<string>> = {
    sqlite: async (name) => `sqlite:${join(folder, `${name}.sqlite`)}`,
    postgres: async (name) => {
      await using sql = new SQL(postgres.url);
      await sql.unsafe(`CREATE DATABASE ${name}`);
      return postgres.url.replace(/[^/]+$/, name);
    },
  };
  for (const [engine, newStore] of Object.entries(databases)) {
    print(engine);
    const [few, many, reads] = [await newStore("few"), await newStore("many"), await newStore("reads")];
    await writeRuns(few, fewRuns);
    await writeRuns(many, manyRuns);
    await compareHistories(few, many);
    await compareReads(reads, feed, folder);
  }
} finally {
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}
