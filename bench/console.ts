import { join } from "node:path";
import { SQL } from "bun";
import type { Product } from "../src/contract/product.ts";
import { skuOf, writeFeed } from "./support/feed.ts";
import { withPostgres } from "./support/postgres.ts";
import { print, seconds } from "./support/print.ts";
import { writeRuns } from "./support/runs.ts";
import { runCommand, withService } from "./support/service.ts";
import { median } from "./support/statistics.ts";

// Measures the console with large stores: `npm run bench -- console [SKUS] [PRODUCTS] [RUNS]`.
const [skus = 1_000_000, products = 100_000, runs = 1_000_000] = process.argv.slice(2).map(Number);

const adjectives =
  "Ivory Cobalt Marlowe Willow Harbor Linen Gilded Rustic Copper Velvet Orchid Saffron Alder Birch Cedar".split(" ");
const nouns =
  "Plate Cup Bowl Platter Goblet Napkin Tray Vase Frame Box Knife Spoon Pitcher Teapot Runner Decanter".split(" ");

/**
 * Small products of the sample with generated titles, so that common words occur in many of them.
 */
async function writeCatalog(path: string): Promise<string> {
  const sample = (await Bun.file(new URL("../sample/products.ndjson", import.meta.url)).text()).trim().split("\n");
  const models = sample.filter((line) => line.length < 12_000).map((line) => JSON.parse(line) as Product);
  const writer = Bun.file(path).writer();
  for (let index = 0; index < products; index++) {
    const model = models[index % models.length] as Product;
    const id = 7_000_000_000_000 + index;
    const name = (list: readonly string[], step: number) => list[(index * step + step) % list.length];
    const title = `${name(adjectives, 1)} ${name(adjectives, 7)} ${name(nouns, 3)} No. ${index}`;
    const handle = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    const variants = model.variants.map((variant, at) => ({ ...variant, product_id: id, sku: `SK${index}-${at}` }));
    const options = model.options.map((option) => ({ ...option, product_id: id }));
    const images = model.images.map((image) => ({ ...image, product_id: id }));
    const image = images[0] ?? null;
    const gid = `gid://shopify/Product/${id}`;
    const product = { ...model, id, admin_graphql_api_id: gid, title, handle, variants, options, images, image };
    writer.write(`${JSON.stringify(product)}\n`);
    if (index % 1000 === 0) await writer.flush();
  }
  await writer.end();
  return path;
}

/** Typical requests; the overview comes first because it is the first request after a start. */
const pages: readonly (readonly [label: string, path: string])[] = [
  ["overview", "/"],
  ["runs", "/runs"],
  ["abandoned runs, which are rare", "/runs?outcome=abandoned"],
  ["failed runs of a brand", "/runs?outcome=failed&brand=brand-1"],
  ["runs of a job, halfway back", `/runs?job=job-2&before=${Math.floor(runs / 2)}`],
  ["runs of two days long ago", "/runs?from=2025-01-10&to=2025-01-11"],
  ["failed runs of a job on a day", "/runs?outcome=failed&job=job-2&from=2025-02-01&to=2025-02-01"],
  ["a text that many reasons have", "/runs?text=the+reason"],
  ["a text that no reason has", "/runs?text=no+reason"],
  ["runs of a job with their durations", "/runs?job=job-1"],
  ["one run", `/runs/${Math.min(777, runs)}`],
  ["all products", "/products"],
  ["all products, halfway", `/products?after=${7_000_000_000_000 + Math.floor(products / 2)}`],
  ["products of a status that none has", "/products?status=archived&vendor=Nobody"],
  ["products of a vendor and a tag", `/products?vendor=Nobody&tag=${encodeURIComponent("gift:wedding")}`],
  ["search: a common word, with a tag that none has", "/products?q=ivory&tag=nothing"],
  ["search: two words", "/products?q=ivory+cup"],
  ["search: a word and a prefix", "/products?q=marlowe+pla"],
  ["search: one letter", "/products?q=p"],
  ["search: a SKU", `/products?q=SK${products - 1}-0`],
  ["search: a prefix of SKUs", "/products?q=sk9"],
  ["search: words without a common product", "/products?q=ivory+cobalt+marlowe+willow"],
  ["one product", "/products/7000000000005"],
  ["personalization of a SKU", `/personalization?sku=${skuOf(Math.floor(skus / 2))}`],
  ["SKUs that offer a style", "/personalization?style=ST0001"],
  ["styles that use a choice group", "/personalization?group=GROUP001"],
  ["groups that contain a choice", "/personalization?choice=Choice+3+of+7"],
  ["styles", "/personalization"],
  ["a SKU in another case", `/personalization?sku=${skuOf(Math.floor(skus / 2)).toLowerCase()}x`],
  ["search of everything: a SKU in another case", `/search?q=${skuOf(Math.floor(skus / 2)).toLowerCase()}`],
  ["search of everything: a common word", "/search?q=ivory"],
  ["search of everything: a number", "/search?q=777"],
  ["versions", "/personalization/versions"],
  ["an offer that is no longer stored", `/personalization?sku=${skuOf(Math.floor(skus / 2))}&mark=none`],
];
const requestsPerPage = 15;

async function requestPages(admin: string): Promise<void> {
  for (const [label, path] of pages) {
    const durations: number[] = [];
    for (let turn = 0; turn < requestsPerPage; turn++) {
      const startedMs = performance.now();
      const response = await fetch(admin + path, { headers: { Accept: "text/html" } });
      await response.text();
      durations.push(performance.now() - startedMs);
      if (response.status !== 200) throw new Error(`${path} returned status ${response.status}`);
    }
    const [first = Number.NaN, ...later] = durations;
    const [medianMs, maxMs] = [median(later), Math.max(...later)];
    print(
      `  ${label}: first ${first.toFixed(0)} ms, then median ${medianMs.toFixed(1)} ms, max ${maxMs.toFixed(1)} ms`,
    );
  }
}

const watchers = 20;
const watchedMs = 20_000;
const refreshMs = 5000;

/** Measures the CPU that people take who leave the overview open, beyond that of a service at rest. */
async function watchOverview(admin: string): Promise<void> {
  const readCpuS = async () => {
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    return Number(metrics.match(/^\w*process_cpu_seconds_total (\S+)$/m)?.[1]);
  };
  const cpuDuring = async (work: Promise<unknown>) => {
    const before = await readCpuS();
    await work;
    return ((await readCpuS()) - before) / (watchedMs / 1000);
  };
  const atRest = await cpuDuring(Bun.sleep(watchedMs));
  const watch = async (_: unknown, index: number) => {
    await Bun.sleep((refreshMs / watchers) * index);
    for (let at = 0; at + refreshMs <= watchedMs; at += refreshMs) {
      await (await fetch(`${admin}/?refresh=shared`, { headers: { Accept: "text/html" } })).text();
      await Bun.sleep(refreshMs);
    }
  };
  const watched = await cpuDuring(Promise.all([Bun.sleep(watchedMs), ...Array.from({ length: watchers }, watch)]));
  print(`  ${watchers} people watching: ${((watched - atRest) * 100).toFixed(1)} % of a core more`);
}

/** Compares two generations, and measures the longest wait of other requests meanwhile. */
async function compareGenerations(admin: string): Promise<void> {
  let isDone = false;
  const startedMs = performance.now();
  const comparing = fetch(`${admin}/personalization/difference?brand=default`, { headers: { Accept: "text/html" } })
    .then(async (response) => response.status === 200 && (await response.text()).includes("SKUs"))
    .finally(() => {
      isDone = true;
    });
  let longestMs = 0;
  while (!isDone) {
    const requestedMs = performance.now();
    await (await fetch(`${admin}/livez`)).text();
    longestMs = Math.max(longestMs, performance.now() - requestedMs);
    await Bun.sleep(2);
  }
  if (!(await comparing)) throw new Error("the comparison of the generations failed");
  const tookMs = performance.now() - startedMs;
  print(
    `  comparison of two generations: ${tookMs.toFixed(0)} ms, other requests wait at most ${longestMs.toFixed(1)} ms`,
  );
}

/** Imports a file or folder. @returns its CPU and elapsed time */
async function importInto(url: string, noun: string, source: string): Promise<string> {
  const { cpuMs, elapsedMs } = await runCommand(["import", noun, source], { DATABASE_URL: url });
  return `${seconds(cpuMs, 1)} of CPU, ${seconds(elapsedMs, 1)}`;
}

await withPostgres(["shared_buffers=512MB"], async (folder, serverUrl) => {
  const catalog = await writeCatalog(join(folder, "products.ndjson"));
  const feeds = [
    await writeFeed(join(folder, "A"), skus, { status: "A" }),
    await writeFeed(join(folder, "B"), skus, { status: "B" }),
  ];
  for (const url of [`sqlite:${join(folder, "pds.sqlite")}`, serverUrl]) {
    print(`${new URL(url).protocol.slice(0, -1)}, ${skus} SKUs in two generations, ${products} products, ${runs} runs`);
    print(`  import of products: ${await importInto(url, "products", catalog)}`);
    for (const feed of feeds) print(`  import of personalization: ${await importInto(url, "personalization", feed)}`);
    await writeRuns(url, runs, 3);
    if (url === serverUrl) {
      await using sql = new SQL(url, { max: 1 });
      await sql.unsafe("VACUUM ANALYZE");
    }
    await withService({ DATABASE_URL: url }, async (_, adminUrl) => {
      await requestPages(adminUrl);
      await compareGenerations(adminUrl);
      await watchOverview(adminUrl);
    });
  }
});
