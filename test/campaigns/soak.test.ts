import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { createRandom, createSequence } from "../../bench/support/sequence.ts";
import { median } from "../../bench/support/statistics.ts";
import { changeProduct, toProduct, toVariant } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { fillStore } from "../support/import-here.ts";
import { type LoadRequest, runLoad } from "../support/load.ts";
import { connectTo, isCampaign, temporaryFolder } from "../support/pds.ts";
import { canSeeProcesses, openFiles, readMetric, residentBytes, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Hours in small: full load on more than the memory for answers holds, while products change;
// nothing may grow.

const seconds = isCampaign ? Number(process.env.SOAK_SECONDS ?? 600) : 3;
setDefaultTimeout((seconds + 60) * 1000);
const productCount = isCampaign ? 20_000 : 1200;
const megabytes = isCampaign ? 64 : 4;
/** How far the last third may lie above the first. */
const tolerance = 0.05;
/** What is left out at the beginning. */
const warmUp = 0.2;
const changesPerSecond = 20;

const firstId = 8_000_000_000_001;
const idOf = (index: number) => firstId + index;
const variantsOf = (id: number) =>
  Array.from({ length: 4 }, (_, index) => toVariant(id, { id: 401 + index, metafields: [] }));

/** By how much the last third of a series lies above the first, after the warm-up. */
function growthOf(series: readonly number[]): number {
  const settled = series.slice(Math.ceil(series.length * warmUp));
  const third = Math.max(1, Math.floor(settled.length / 3));
  return median(settled.slice(-third)) / median(settled.slice(0, third)) - 1;
}

/** Requests as a shop's pages send them, and some for unknown names. */
function asking(): (request: number) => LoadRequest {
  const random = createRandom(7);
  const pick = createSequence("zipf", productCount, 7);
  const codings = ["br", "gzip", "zstd", "identity"];
  return (request) => {
    const kind = random();
    const headers = { "Accept-Encoding": codings[request % 7] ?? "br" };
    if (kind < 0.8) return { path: `/api/v1/products/${idOf(pick())}`, headers };
    if (kind < 0.9) return { path: `/api/v1/products/pz/${["MUG", "A%2FB%20%C3%A9%2B"][request % 2]}`, headers };
    if (kind < 0.94) return { path: `/api/v1/products/pz/unknown-${Math.floor(random() * 1e9)}`, headers };
    if (kind < 0.97) return { path: `/api/v1/products/${1 + Math.floor(random() * 1e9)}`, headers, statuses: [404] };
    if (kind < 0.98) return { path: `/api/v1/products/x${request}`, headers, statuses: [400] };
    return { path: "/api/v1/histories", headers };
  };
}

test("growth is seen where there is some, and only there", () => {
  const noise = createRandom(3);
  const series = (slope: number) => Array.from({ length: 100 }, (_, index) => 100 + slope * index + noise() * 3);
  const jump = Array.from({ length: 100 }, (_, index) => (index < 15 ? 50 : 100));
  expect(growthOf(series(0))).toBeLessThan(tolerance);
  expect(growthOf(series(0.3))).toBeGreaterThan(tolerance);
  expect(growthOf(jump)).toBe(0);
});

describe.if(canSeeProcesses)(`${seconds} seconds of full load on ${productCount} products that change`, () => {
  test("leave memory and open files as they were, and no request without its answer", async () => {
    const folder = await temporaryFolder();
    const url = `sqlite:${join(folder, "pds.sqlite")}`;
    const environment = { DATABASE_URL: url, MEMORY_MEGABYTES: `${megabytes}`, LOG_LEVEL: "error" };
    const products = Array.from({ length: productCount }, (_, index) =>
      toProduct(idOf(index), { variants: variantsOf(idOf(index)) }),
    );
    await fillStore(environment, products, feedFiles);

    await using service = await startService(environment);
    const filesBefore = openFiles(service.pid);
    const asked = asking();
    // Otherwise the first connections were the growth.
    await runLoad({ url: service.url, paths: asked, connections: 64, requests: 500 });
    const over = new AbortController();
    const [bytes, files]: number[][] = [[], []];
    const sampling = (async () => {
      for (const everyMs = Math.min(1000, seconds * 20); !over.signal.aborted; await Bun.sleep(everyMs)) {
        bytes?.push(residentBytes(service.pid));
        files?.push(openFiles(service.pid));
      }
    })();
    const changing = change(url, over.signal);
    const outcome = await runLoad({ url: service.url, paths: asked, connections: 64, seconds });
    over.abort();
    await sampling;
    const changes = await changing;

    expect(outcome.failures).toEqual({});
    expect(outcome.answered).toBe(outcome.requests);
    expect(outcome.answered).toBeGreaterThan(seconds * 100);
    expect(changes).toBeGreaterThan(seconds);
    const evicted = () => readMetric(service, "pds_cache_removed_total", 'reason="evicted"');
    // It was full, and what had changed was forgotten: else this would say little. On a busy machine,
    // a short load does not fill it.
    if (isCampaign) expect(await evicted()).toBeGreaterThan(0);
    await until("the cache was full", async () => {
      await runLoad({ url: service.url, paths: asked, connections: 64, requests: 1000 });
      return (await evicted()) > 0;
    });
    expect(await readMetric(service, "pds_cache_bytes")).toBeWithin(megabytes * 2 ** 20 * 0.8, megabytes * 2 ** 20 + 1);
    expect(await readMetric(service, "pds_cache_removed_total", 'reason="invalidated"')).toBeGreaterThan(0);

    // The load is gone, and with it its connections.
    await until("the connections are closed", () => openFiles(service.pid) <= filesBefore + 2);
    expect(Math.max(...(files ?? []))).toBeLessThanOrEqual(median(files ?? []) + 16);
    if (isCampaign) report(outcome.answered, outcome.longestMs, changes, bytes ?? []);
    // A few seconds are all warm-up.
    expect(growthOf(bytes ?? [])).toBeLessThan(isCampaign ? tolerance : 1);
  });
});

/** Has products change as a job would have them. @returns how many */
async function change(url: string, signal: AbortSignal): Promise<number> {
  const sql = await connectTo(url);
  const pick = createSequence("zipf", productCount, 11);
  let count = 0;
  for (; !signal.aborted; count++) {
    const id = idOf(pick());
    await changeProduct(sql, toProduct(id, { variants: variantsOf(id), title: `Plate ${id}, ${count}` }));
    await Bun.sleep(1000 / changesPerSecond);
  }
  await sql.close();
  return count;
}

function report(answered: number, longestMs: number, changes: number, bytes: readonly number[]): void {
  const megabytesOf = (value: number) => (value / 2 ** 20).toFixed(1);
  const tenth = bytes.length / 10;
  const tenths = Array.from({ length: 10 }, (_, index) =>
    megabytesOf(median(bytes.slice(Math.floor(index * tenth), Math.floor((index + 1) * tenth)))),
  );
  process.stderr.write(
    `${answered} answers, the longest in ${longestMs.toFixed(0)} ms, ${changes} changes; resident at least ` +
      `${megabytesOf(Math.min(...bytes))} MB, by tenths ${tenths.join(" ")} MB, growth ${(growthOf(bytes) * 100).toFixed(1)} %\n`,
  );
}
