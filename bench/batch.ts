import { join } from "node:path";
import { Contenders } from "./support/contenders.ts";
import { skuOf, writeFeed } from "./support/feed.ts";
import { LoadProcess } from "./support/measure.ts";
import { createDatabase, withPostgres } from "./support/postgres.ts";
import { print } from "./support/print.ts";
import { cpuSecondsOf } from "./support/processes.ts";
import { runCommand } from "./support/service.ts";
import { interval, median } from "./support/statistics.ts";

// Measures how much CPU responses take with the personalization of 50 SKUs, compared with one SKU, and
// forms, compared with personalizations of the same size: `npm run bench -- batch [ROUNDS]`.
const rounds = Number(process.argv[2] ?? 15);
const seconds = 1;
const skus = 10_000;
const perBatch = 50;
/** Those of a few pages that list products. */
const batches = 100;
/** With five choices per group, a personalization has as many bytes as a form has with three. */
const choicesPerGroup = { small: 3, large: 5 };

const all = Array.from({ length: skus }, (_, index) => skuOf(index));
const some = all.slice(0, batches);
const one = some.map((sku) => `/products/pz/${sku}`);
const forms = some.map((sku) => `/products/form/en/${sku}`);
const many = Array.from({ length: batches }, (_, index) => {
  const ofPage = all.slice(index * perBatch, (index + 1) * perBatch);
  return `/products/pz?${ofPage.map((sku) => `sku=${sku}`).join("&")}`;
});

const cases = [
  ["cached", "ours", {}],
  ["cached, gzip", "ours", { "Accept-Encoding": "gzip" }],
  ["cache off, SQLite", "coldSqlite", {}],
  ["cache off, PostgreSQL", "coldPostgres", {}],
] as const;
const names = ["ours", "coldSqlite", "coldPostgres"] as const;

await withPostgres([], async (folder, serverUrl) => {
  const start = async (size: keyof typeof choicesPerGroup) => {
    const [sqlite, postgres] = [`sqlite:${join(folder, `${size}.sqlite`)}`, await createDatabase(serverUrl, size)];
    const shape = { status: "A", choicesPerGroup: choicesPerGroup[size] };
    const feed = await writeFeed(join(folder, size), skus, shape);
    for (const url of [sqlite, postgres]) await runCommand(["import", "personalization", feed], { DATABASE_URL: url });
    const contenders = new Contenders();
    for (const name of names) await contenders.startService(name, { skus, sqlite, postgres, plain: "" });
    return contenders;
  };
  await using small = await start("small");
  await using large = await start("large");
  await using load = new LoadProcess();
  for (const [label, name, headers] of cases) {
    /** @returns CPU seconds of the service per 10,000 responses */
    const measure = async (contenders: Contenders, paths: readonly string[], seed: number) => {
      const { url, pid } = contenders.get(name);
      const before = cpuSecondsOf(pid);
      const { requests } = await load.drive({ url, paths, headers, connections: 16, seconds, seed });
      return ((cpuSecondsOf(pid) - before) * 10_000) / requests;
    };
    const samples = { one: [] as number[], many: [] as number[], forms: [] as number[], large: [] as number[] };
    for (let round = 0; round <= rounds; round++) {
      const measured = {
        one: await measure(small, one, round + 1),
        many: await measure(small, many, round + 1),
        forms: await measure(small, forms, round + 1),
        large: await measure(large, one, round + 1),
      };
      // The first one warms up.
      if (round === 0) continue;
      for (const key of ["one", "many", "forms", "large"] as const) samples[key].push(measured[key]);
    }
    const compare = (of: keyof typeof samples, to: keyof typeof samples) => {
      const ratios = samples[of].map((sample, round) => sample / (samples[to][round] ?? Number.NaN));
      return `${median(samples[of]).toFixed(2)} and ${median(samples[to]).toFixed(2)}, ratio ${interval(ratios)}`;
    };
    print(`${label}, CPU s per 10,000 responses:`);
    print(`  ${perBatch} SKUs and one: ${compare("many", "one")}`);
    print(`  a form and a personalization of its size: ${compare("forms", "large")}`);
  }
});
