import { describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeNginx } from "../../bench/peers/nginx.ts";
import { runLoad } from "../../bench/support/load.ts";
import { LoadProcess } from "../../bench/support/measure.ts";
import { cpuSecondsOf } from "../../bench/support/processes.ts";
import { createSequence } from "../../bench/support/sequence.ts";
import { toJson } from "../../src/json.ts";
import { toProduct, toVariant } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { findFreePort } from "../support/free-port.ts";
import { listInstalled, startFront } from "../support/front.ts";
import { isCampaign, pds, temporaryFolder, writeFiles } from "../support/pds.ts";
import { canSeeProcesses, openFiles, residentBytes, startService } from "../support/service-process.ts";

// A steady mix at 80 % of what the service can do, next to nginx, which serves the same files at the
// same rate.

const seconds = isCampaign ? Number(process.env.CAPACITY_SECONDS ?? 600) : 2;
const probeSeconds = isCampaign ? 10 : 1;
const productCount = isCampaign ? 5000 : 500;
const connections = 64;
const share = 0.8;
/** How much longer than with nginx one response in a thousand may take. */
const slower = 3;
/** How far the last third of the memory samples may be from the second. */
const tolerance = 0.05;

const variants = Array.from({ length: 4 }, (_, index) => toVariant(1, { id: 401 + index }));
const documents = Array.from({ length: productCount }, (_, index) => toJson(toProduct(index + 1, { variants })));
const nginx = listInstalled(["nginx"]).length > 0;
const folder = await temporaryFolder();

/** Requests that succeed, as a shop's pages send them: some products often, most seldom. */
const pick = createSequence("zipf", productCount, 1);
const found = Array.from({ length: 5000 }, (_, index) => {
  if (index % 10 === 0) return "/api/v1/products/pz/MUG";
  return index % 50 === 1 ? "/api/v1/histories" : `/api/v1/products/${pick() + 1}`;
});
const missing = Array.from({ length: 2000 }, (_, index) => `/api/v1/products/${9e9 + index}`);
/** How many are for products that do not exist. */
const missingShare = 0.04;

/** All kinds of requests, at a rate or as fast as possible. */
async function run(generator: LoadProcess, url: string, forSeconds: number, rate?: number) {
  const at = (part: number) => ({ url, seconds: forSeconds, ...(rate !== undefined && { rate: part * rate }) });
  const [result, others] = await Promise.all([
    generator.drive({ ...at(1 - missingShare), paths: found, order: "turns", connections }),
    runLoad({ ...at(missingShare), paths: missing, connections: rate === undefined ? 1 : 8, expect: 404 }),
  ]);
  expect(others.failures).toEqual({ refused: 0, reset: 0, timeout: 0, status: 0, body: 0, malformed: 0 });
  return { ...result, perSecond: result.perSecond + others.perSecond };
}

async function startNginx(): Promise<string> {
  const files = join(folder, "files");
  await mkdir(join(files, "api/v1/products/pz"), { recursive: true });
  await writeFiles(files, {
    livez: "ok",
    "api/v1/histories": '{"histories":[]}',
    "api/v1/products/pz/MUG": '{"pzlines":[]}',
    ...Object.fromEntries(documents.map((document, index) => [`api/v1/products/${index + 1}`, document])),
  });
  const port = await findFreePort();
  return await startFront(await writeNginx(join(folder, "nginx"), files, port), port);
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const report = (line: string) => void process.stderr.write(`${line}\n`);

describe.if(canSeeProcesses)(`${seconds} seconds at ${share * 100} % of the capacity`, () => {
  test(
    "leave memory and open files as they are, and one response in a thousand about as fast as nginx's",
    async () => {
      const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, LOG_LEVEL: "error" };
      const [file = ""] = await writeFiles(folder, { "products.ndjson": documents.join("\n") });
      const feed = await writeFeed(folder, "feed", feedFiles);
      expect((await pds(["import", "products", file], environment)).code).toBe(0);
      expect((await pds(["import", "personalization", feed], environment)).code).toBe(0);
      await using service = await startService(environment);

      await using generator = new LoadProcess();
      await run(generator, service.url, probeSeconds);
      const [usedS, begunMs] = [cpuSecondsOf(service.pid), performance.now()];
      const { perSecond } = await run(generator, service.url, probeSeconds);
      const busy = (cpuSecondsOf(service.pid) - usedS) / ((performance.now() - begunMs) / 1000);
      const capacity = perSecond / Math.min(1, busy);
      // The generator may be slower than the service.
      const rate = share * Math.min(capacity, perSecond);

      const megabytes: number[] = [];
      const files: number[] = [];
      const sampling = setInterval(
        () => {
          megabytes.push(residentBytes(service.pid) / 2 ** 20);
          files.push(openFiles(service.pid));
        },
        Math.min(1000, seconds * 30),
      );
      const own = await run(generator, service.url, seconds, rate);
      clearInterval(sampling);
      const peer = nginx ? await run(generator, await startNginx(), seconds, rate) : undefined;

      const third = Math.floor(megabytes.length / 3);
      const [before, after] = [median(megabytes.slice(third, 2 * third)), median(megabytes.slice(2 * third))];
      report(
        `capacity ${capacity.toFixed(0)} requests per second, ` +
          `sent ${rate.toFixed(0)}, ${((100 * rate) / capacity).toFixed(0)} % of that; ` +
          `memory ${before.toFixed(1)}, then ${after.toFixed(1)} MB; files ${Math.min(...files)} to ${Math.max(...files)}`,
      );
      for (const [name, result] of Object.entries({ pds: own, nginx: peer })) {
        if (result === undefined) continue;
        const { p99Ms, p999Ms, maxMs } = result;
        report(`${name}: p99 ${p99Ms.toFixed(1)}, p99.9 ${p999Ms.toFixed(1)}, longest ${maxMs.toFixed(1)} ms`);
      }
      // A short run is all warm-up, and on a busy machine.
      if (!isCampaign) return;
      expect(Math.max(...files)).toBeLessThanOrEqual(median(files) + 2);
      expect(Math.abs(after / before - 1)).toBeLessThan(tolerance);
      if (peer !== undefined) expect(own.p999Ms).toBeLessThan(slower * peer.p999Ms);
    },
    (2 * seconds + 2 * probeSeconds + 120) * 1000,
  );
});
