import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpus } from "node:os";
import { DirectReader } from "../proof/direct-reader.ts";
import { listFaults, untilWhole } from "../proof/faults.ts";
import { markedGroup } from "../proof/feed.ts";
import { findDifferent, isCached, listComparisons } from "../proof/final-check.ts";
import { startFleet } from "../proof/fleet.ts";
import { ReplicaWatcher } from "../proof/replica-watcher.ts";
import { renderReport, type Step } from "../proof/report.tsx";
import { type Problem, Shoppers } from "../proof/shoppers.ts";
import { StoreHistory } from "../proof/store-history.ts";
import { personalization, StoreWatcher } from "../proof/store-watcher.ts";
import { findLostTicks, listRuns, listTicks, type ScheduledJob, schedules, type TickRun } from "../proof/ticks.ts";
import { listInstalled } from "../support/front.ts";
import { createNewVersion } from "../support/new-version.ts";
import { isCampaign } from "../support/pds.ts";
import { readAnswers } from "../support/platform.ts";
import { canSeeProcesses } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// A whole fleet under load: two edges that are purged, two balancers, three replicas, a pooler, and a
// primary with its standby; the platform pushes edits, and the feed changes all the time. Then every
// part is killed, every link is cut, and operators do what they do.

const size = isCampaign ? { skus: 50_000, products: 5000, rate: 100 } : { skus: 2000, products: 300, rate: 40 };
/** How long a fault lasts at least, and the pause after it. */
const holdMs = isCampaign ? 10_000 : 1500;
const calmMs = isCampaign ? 14_000 : 500;
/** Products edited per second. */
const editRate = 2;
/** Products that no shopper requests. */
const unrequested = isCampaign ? 100 : 10;
/** How many of them are edited and read at each replica while parts are lost. */
const directlyRead = 3;
/** The last feed may wait for its import. */
const untilImportedMs = 90_000;
const reportPath = process.env.PROOF_REPORT;

// On a busy machine, the short form takes several times as long.
setDefaultTimeout(isCampaign ? 3_600_000 : 600_000);
const needed = ["varnishd", "haproxy", "pgbouncer", ...(process.getuid?.() === 0 ? ["setpriv"] : [])];
const isPossible = canSeeProcesses && listInstalled(needed).length === needed.length;

/** @returns the first line of what a program prints as its version */
const versionOf = (...command: string[]) => {
  const { stdout, stderr } = Bun.spawnSync(command);
  return `${stdout}${stderr}`.match(/\d+\.\d+(\.\d+)?/)?.[0] ?? "";
};

const listParts = ({ skus, products, rate }: typeof size) => [
  `${skus} SKUs of an ERP feed, ${products} products of the platform's stand-in, ${rate} requests per second by Zipf's law`,
  `2 edges: Varnish ${versionOf("varnishd", "-V")}, purged by the service`,
  `2 balancers: HAProxy ${versionOf("haproxy", "-v")}`,
  `3 replicas on Bun ${Bun.version}`,
  `a pooler: PgBouncer ${versionOf("pgbouncer", "--version")}`,
  `a balancer that finds the primary: HAProxy ${versionOf("haproxy", "-v")}`,
  "a primary and a synchronous standby: PostgreSQL 18",
];

test.skipIf(!isPossible)("a fleet answers through every fault", async () => {
  const newVersion = await createNewVersion();
  const fleet = await startFleet(size);
  const { catalog } = fleet.platform;
  const allIds = catalog.ids(0, catalog.count);
  const productIds = allIds.slice(0, -unrequested);
  const unrequestedIds = allIds.slice(-unrequested);
  const products = await readAnswers(fleet.platform, productIds);
  const history = new StoreHistory();
  const watcher = new StoreWatcher(`${fleet.environment.DATABASE_URL}`, history, markedGroup);
  await until("the store is watched", () => watcher.hasBegun);
  await untilWhole(fleet);
  const startedMs = Date.now();
  const shoppers = new Shoppers({
    ...{ edges: fleet.edgeUrls, origins: fleet.balancerUrls, products, skus: fleet.erp.skus },
    ...{ responseOf: fleet.erp.responseOf, history },
    rate: size.rate,
  });
  const replicaWatcher = new ReplicaWatcher(fleet.replicas);
  const sinceBegin = () => performance.now() - shoppers.begunMs;

  let edits = 0;
  let isOver = false;
  const editing = (async () => {
    while (!isOver) {
      const id = productIds[Math.floor(Math.random() ** 3 * productIds.length)] as string;
      const version = `v${++edits}`;
      catalog.touch(id, { product: { title: version, vendor: version } });
      await Bun.sleep((Math.random() * 2000) / editRate);
    }
  })();
  afterAll(() => {
    isOver = true;
  });

  const steps: Step[] = [];
  const progress = (text: string) => process.stderr.write(`${Math.round(sinceBegin() / 1000)} s: ${text}\n`);
  await Bun.sleep(calmMs);
  const reader = new DirectReader({
    replicas: fleet.replicas,
    catalog,
    history,
    ids: unrequestedIds.slice(0, directlyRead),
  });
  for (const fault of listFaults(fleet, { newVersion, unrequestedIds, reader })) {
    if (!isCampaign && fault.isShort !== true) continue;
    const fromMs = sinceBegin();
    await fault.begin();
    await Bun.sleep(Math.max(0, (fault.holdMs?.() ?? holdMs) - (sinceBegin() - fromMs)));
    await fault.end();
    const repairedMs = sinceBegin();
    await untilWhole(fleet);
    steps.push({
      name: fault.name,
      isWithoutDatabase: fault.isWithoutDatabase === true,
      fromMs,
      repairedMs,
      wholeMs: sinceBegin(),
    });
    progress(`${fault.name}; ${shoppers.failures.length} failed so far`);
    await Bun.sleep(calmMs);
  }
  isOver = true;
  await editing;
  const feedVersion = fleet.erp.freeze();
  await shoppers.stop();
  const endedMs = Date.now();

  // What was due is made up for; then everything is as its sources have it.
  let runs: TickRun[] = [];
  let lostTicks: string[] = [];
  await until("every scheduled time has been run", async () => {
    runs = await listRuns(fleet.cluster.primary.url);
    lostTicks = findLostTicks(runs, startedMs, endedMs);
    return lostTicks.length === 0;
  }).catch(() => {});
  const isImported = () => history.currentVersion(personalization) === feedVersion;
  await until("the last feed is imported", isImported, untilImportedMs);
  const comparisons = await listComparisons(fleet, feedVersion);
  let different = await findDifferent(comparisons);
  await until("everything is as its sources have it", async () => {
    different = await findDifferent(different);
    return different.length === 0;
  }).catch(() => {});
  for (const edge of fleet.edgeUrls) {
    for (const path of [productIds[0], `pz/${fleet.erp.skus[0]}`]) {
      expect(await isCached(`${edge}/api/v1/products/${path}`)).toBe(true);
    }
  }
  await watcher.stop();
  await replicaWatcher.stop();
  const unseen = history.settleDoubts();
  const isExcused = (problem: Problem) =>
    steps.some(({ isWithoutDatabase, fromMs, wholeMs }) => {
      const { atMs } = relative(problem);
      return isWithoutDatabase && atMs >= fromMs && atMs < wholeMs;
    });
  const proof = {
    startedAt: new Date(startedMs).toISOString(),
    command: isCampaign ? "npm run test:faults -- proof" : "npm run test:faults -- --short proof",
    machine: `${cpus().length} processors (${cpus()[0]?.model.trim()}), all parts on one machine`,
    parts: listParts(size),
    ...{ seconds: shoppers.seconds, steps, edits },
    failures: [...shoppers.failures, ...shoppers.refused.filter((problem) => !isExcused(problem))].map(relative),
    refused: shoppers.refused.filter(isExcused).map(relative),
    old: [...shoppers.old, ...reader.old].map(relative),
    mixed: shoppers.mixed.map(relative),
    incorrect: shoppers.incorrect.map(relative),
    runs,
    lostTicks,
    ticks: (Object.keys(schedules) as ScheduledJob[]).flatMap((job) => listTicks(job, startedMs, endedMs)).length,
    hidden: replicaWatcher.get(503),
    defects: replicaWatcher.defects,
    wrong: different.map(({ url }) => url),
    compared: comparisons.length,
    repeated: shoppers.repeated,
    hitRatio: shoppers.edgeHits / shoppers.edgeRequests,
  };
  function relative({ atMs, what }: { atMs: number; what: string }) {
    return { atMs: atMs - shoppers.begunMs, what };
  }
  process.stderr.write(
    `proof: ${shoppers.requests} requests, ${steps.length} faults, ${edits} edits: ${proof.failures.length} failed, ` +
      `${proof.refused.length} refused without the database, ` +
      `${proof.old.length} older than a second without Age, ${proof.mixed.length} mixed, ${proof.incorrect.length} incorrect, ${proof.lostTicks.length} of ` +
      `${proof.ticks} scheduled times lost, ${proof.wrong.length} of ${proof.compared} wrong at the end; ` +
      `replicas answered with 503 ${proof.hidden} times, and with another failure ${proof.defects} times; ` +
      `${shoppers.repeated} repeated, ${unseen} with versions that no poll has seen\n`,
  );
  for (const { atMs, what } of [...proof.failures, ...proof.old, ...proof.mixed, ...proof.incorrect]) {
    const fault = steps.findLast(({ fromMs }) => atMs >= fromMs)?.name ?? "before any fault";
    process.stderr.write(`${fault}: ${what}\n`);
  }
  for (const what of [...lostTicks, ...proof.wrong.slice(0, 50)]) process.stderr.write(`${what}\n`);
  if (reportPath !== undefined) await Bun.write(reportPath, renderReport(proof));
  expect(proof.mixed).toEqual([]);
  expect(proof.incorrect).toEqual([]);
  expect(reader.old).toEqual([]);
  expect(reader.checked).toBeGreaterThan(0);
  expect(proof.defects).toBe(0);
  expect(proof.lostTicks).toEqual([]);
  expect(proof.wrong).toEqual([]);
  // A fleet that nobody changes or watches proves nothing.
  const few = shoppers.requests / 10;
  expect(edits).toBeGreaterThan(0);
  expect(unseen).toBeLessThan(few);
  // On a busy machine, balancers take late replicas out, and purges are late.
  if (!isCampaign) {
    expect(proof.failures.length).toBeLessThan(few);
    expect(proof.old.length).toBeLessThan(few / 3);
    return;
  }
  expect(proof.failures).toEqual([]);
  expect(proof.old).toEqual([]);
  // Nor does one whose caches do not answer.
  expect(proof.hitRatio).toBeGreaterThan(0.3);
});
