import { join } from "node:path";
import { Contenders } from "./support/contenders.ts";
import { skuOf, writeFeed } from "./support/feed.ts";
import { withFolder } from "./support/folder.ts";
import { LoadProcess } from "./support/measure.ts";
import { print } from "./support/print.ts";
import { cpuSecondsOf } from "./support/processes.ts";
import { runCommand } from "./support/service.ts";
import { interval, median } from "./support/statistics.ts";

// Measures how much CPU a response with the personalization of 50 SKUs takes, compared with one SKU, on
// SQLite: `npm run bench:batch -- [ROUNDS]`.
const rounds = Number(process.argv[2] ?? 15);
const seconds = 1;
const skus = 10_000;
const perBatch = 50;
/** Those of a few pages that list products. */
const batches = 100;

const all = Array.from({ length: skus }, (_, index) => skuOf(index));
const one = all.slice(0, batches).map((sku) => `/products/pz/${sku}`);
const many = Array.from({ length: batches }, (_, index) => {
  const some = all.slice(index * perBatch, (index + 1) * perBatch);
  return `/products/pz?${some.map((sku) => `sku=${sku}`).join("&")}`;
});

const cases = [
  ["cached", "ours", {}],
  ["cached, gzip", "ours", { "Accept-Encoding": "gzip" }],
  ["cache off", "coldSqlite", {}],
] as const;

await withFolder(async (folder) => {
  const sqlite = `sqlite:${join(folder, "pds.sqlite")}`;
  const feed = await writeFeed(join(folder, "feed"), skus, { status: "A", choicesPerGroup: 3 });
  await runCommand(["import", "personalization", feed], { DATABASE_URL: sqlite });
  await using load = new LoadProcess();
  await using contenders = new Contenders();
  for (const name of ["ours", "coldSqlite"] as const) {
    await contenders.startService(name, { skus, sqlite, postgres: "", plain: "" });
  }
  for (const [label, name, headers] of cases) {
    const { url, pid } = contenders.get(name);
    /** @returns CPU seconds per 10,000 responses */
    const measure = async (paths: readonly string[], seed: number) => {
      const before = cpuSecondsOf(pid);
      const { requests } = await load.drive({ url, paths, headers, connections: 16, seconds, seed });
      return ((cpuSecondsOf(pid) - before) * 10_000) / requests;
    };
    const [ofOne, ofMany]: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      const [single, batch] = [await measure(one, round + 1), await measure(many, round + 1)];
      // The first one warms up.
      if (round === 0) continue;
      ofOne.push(single);
      ofMany.push(batch);
    }
    const ratios = ofMany.map((batch, round) => batch / (ofOne[round] ?? Number.NaN));
    const cpu = [ofOne, ofMany].map((samples) => median(samples).toFixed(2)).join(" and ");
    print(`${label}: ${cpu} CPU s per 10,000 responses with 1 and ${perBatch} SKUs; ratio ${interval(ratios)}`);
  }
});
