import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import type { Product } from "../src/product.ts";
import { createPostgres } from "../test/support/postgres.ts";
import { skuOf, writeFeed } from "./feed.ts";
import { writeRuns } from "./runs.ts";
import { main, percentile, serving, settings } from "./service.ts";

// The console at its largest: `npm run bench:console -- [SKUS] [PRODUCTS] [RUNS]`.
const [skus = 1_000_000, products = 100_000, runs = 1_000_000] = process.argv.slice(2).map(Number);

const print = (line: string) => process.stdout.write(`${line}\n`);

const firsts =
  "Ivory Cobalt Marlowe Willow Harbor Linen Gilded Rustic Copper Velvet Orchid Saffron Alder Birch Cedar".split(" ");
const nouns =
  "Plate Cup Bowl Platter Goblet Napkin Tray Vase Frame Box Knife Spoon Pitcher Teapot Runner Decanter".split(" ");

/** Small documents of the sample under titles of a few words, so that common words are in many of them. */
async function writeCatalog(path: string): Promise<string> {
  const sample = (await Bun.file(new URL("../sample/products.ndjson", import.meta.url)).text()).trim().split("\n");
  const models = sample.filter((line) => line.length < 12_000).map((line) => JSON.parse(line) as Product);
  const writer = Bun.file(path).writer();
  for (let index = 0; index < products; index++) {
    const model = models[index % models.length] as Product;
    const id = 7_000_000_000_000 + index;
    const name = (list: readonly string[], step: number) => list[(index * step + step) % list.length];
    const title = `${name(firsts, 1)} ${name(firsts, 7)} ${name(nouns, 3)} No. ${index}`;
    const handle = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    const variants = model.variants.map((variant, at) => ({ ...variant, product_id: id, sku: `SK${index}-${at}` }));
    writer.write(`${JSON.stringify({ ...model, id, title, handle, variants })}\n`);
    if (index % 1000 === 0) await writer.flush();
  }
  await writer.end();
  return path;
}

/** @returns how long it took, in seconds of CPU and of the clock */
async function importInto(url: string, noun: string, source: string): Promise<string> {
  const begunMs = performance.now();
  const child = Bun.spawn([process.execPath, main, "import", noun, source], {
    env: { ...settings, DATABASE_URL: url },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const errors = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`the ${noun} were not imported: ${errors}`);
  const cpuS = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  return `${cpuS.toFixed(1)} s of CPU, ${((performance.now() - begunMs) / 1000).toFixed(1)} s`;
}

/** What people ask, the first page of a service that has just begun first of all. */
const pages: readonly (readonly [what: string, path: string])[] = [
  ["overview", "/"],
  ["runs", "/runs"],
  ["runs abandoned, which are rare", "/runs?outcome=abandoned"],
  ["failed runs of a brand", "/runs?outcome=failed&brand=brand-1"],
  ["runs of a job, half of the way back", `/runs?job=job-2&before=${Math.floor(runs / 2)}`],
  ["one run", "/runs/777"],
  ["search: two words", "/products?q=ivory+cup"],
  ["search: a word and the beginning of one", "/products?q=marlowe+pla"],
  ["search: one letter", "/products?q=p"],
  ["search: a SKU", `/products?q=SK${products - 1}-0`],
  ["search: the beginning of SKUs", "/products?q=sk9"],
  ["search: words that are in no product together", "/products?q=ivory+cobalt+marlowe+willow"],
  ["one product", "/products/7000000000005"],
  ["what a SKU offers", `/personalization?sku=${skuOf(Math.floor(skus / 2))}`],
  ["who offers a style", "/personalization?style=ST0001"],
  ["who uses a group", "/personalization?group=GROUP001"],
  ["where a choice is", "/personalization?choice=Choice+3+of+7"],
  ["styles", "/personalization"],
];
const times = 15;

async function askPages(admin: string): Promise<void> {
  for (const [what, path] of pages) {
    const took: number[] = [];
    for (let turn = 0; turn < times; turn++) {
      const begunMs = performance.now();
      const response = await fetch(admin + path, { headers: { Accept: "text/html" } });
      await response.text();
      took.push(performance.now() - begunMs);
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
    }
    const [first = Number.NaN, ...later] = took;
    const [middle, worst] = [percentile(later, 0.5), Math.max(...later)];
    print(`  ${what}: first ${first.toFixed(0)} ms, then ${middle.toFixed(1)} ms, at most ${worst.toFixed(1)} ms`);
  }
}

/** The comparison of two generations, and the longest that anybody else waits meanwhile. */
async function compareGenerations(admin: string): Promise<void> {
  let isDone = false;
  const begunMs = performance.now();
  const comparing = fetch(`${admin}/personalization/difference?brand=default`, { headers: { Accept: "text/html" } })
    .then(async (response) => response.status === 200 && (await response.text()).includes("SKUs"))
    .finally(() => {
      isDone = true;
    });
  let longestMs = 0;
  while (!isDone) {
    const askedMs = performance.now();
    await (await fetch(`${admin}/livez`)).text();
    longestMs = Math.max(longestMs, performance.now() - askedMs);
    await Bun.sleep(2);
  }
  if (!(await comparing)) throw new Error("the generations were not compared");
  const tookMs = performance.now() - begunMs;
  print(`  difference of two generations: ${tookMs.toFixed(0)} ms, others wait ${longestMs.toFixed(1)} ms at most`);
}

const folder = await mkdtemp(join(tmpdir(), "pds-bench-"));
const postgres = await createPostgres(["shared_buffers=512MB"]);
try {
  const catalog = await writeCatalog(join(folder, "products.ndjson"));
  const feeds = [await writeFeed(join(folder, "A"), skus, "A"), await writeFeed(join(folder, "B"), skus, "B")];
  for (const url of [`sqlite:${join(folder, "pds.sqlite")}`, postgres.url]) {
    print(`${new URL(url).protocol.slice(0, -1)}, ${skus} SKUs in two generations, ${products} products, ${runs} runs`);
    print(`  import of products: ${await importInto(url, "products", catalog)}`);
    for (const feed of feeds) print(`  import of personalization: ${await importInto(url, "personalization", feed)}`);
    await writeRuns(url, runs, 3);
    if (url === postgres.url) {
      await using sql = new SQL(url, { max: 1 });
      await sql.unsafe("VACUUM ANALYZE");
    }
    await serving({ DATABASE_URL: url }, async (_, __, admin) => {
      await askPages(admin);
      await compareGenerations(admin);
    });
  }
} finally {
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}
