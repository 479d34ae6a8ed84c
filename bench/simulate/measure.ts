import { cpus } from "node:os";
import { join } from "node:path";
import { writeFeed } from "../support/feed.ts";
import { LoadProcess } from "../support/measure.ts";
import { createDatabase } from "../support/postgres.ts";
import { cpuSecondsOf } from "../support/processes.ts";
import { runCommand } from "../support/service.ts";
import { median } from "../support/statistics.ts";
import type { Costs, KindCosts } from "./costs.ts";
import { changeProduct, type Rig, startFleet } from "./rig.ts";

const rounds = 5;
const changesPerSecond = 50;
/** Requests per second. */
const littleRate = 1000;
const littleRounds = 5;
const feedSkus = 100_000;
const rowsPerSku = 3;
const connections = 8;

/** As browsers ask. */
export const headers = { "Accept-Encoding": "gzip" };

/** The cache of a replica. */
async function cacheOf(adminUrl: string): Promise<{ readonly bytes: number; readonly entries: number }> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1]);
  return { bytes: gauge("pds_cache_bytes"), entries: gauge("pds_cache_entries") };
}

/** CPU seconds that processes used during the work. */
async function cpuDuring(pids: readonly number[], work: () => Promise<unknown>): Promise<number[]> {
  const before = pids.map(cpuSecondsOf);
  await work();
  return pids.map((pid, index) => cpuSecondsOf(pid) - (before[index] ?? 0));
}

/** Measures what requests, changes, and rows cost on this machine. */
export async function measureCosts(rig: Rig, idleSeconds: number, log: (line: string) => void): Promise<Costs> {
  const seconds = Math.ceil(idleSeconds / 20);
  const changes = changesPerSecond * idleSeconds;
  await using cached = await startFleet(rig, { replicas: 1, edgeMegabytes: 256, isPurged: true });
  await using load = new LoadProcess();
  const {
    varnish,
    replicas: [hit],
  } = cached;
  if (varnish === undefined || hit === undefined) throw new Error("nothing is running");

  log("an idle replica");
  const [idle = 0, idlePostgres = 0] = await cpuDuring([hit.child.pid, rig.postgresPid], () =>
    Bun.sleep(idleSeconds * 1000),
  );
  await using uncached = await startFleet(rig, {
    ...{ replicas: 1, edgeMegabytes: undefined, isPurged: false },
    environment: { MEMORY_MEGABYTES: "0" },
  });
  const [miss] = uncached.replicas;
  if (miss === undefined) throw new Error("no replica is running");

  const edgeOf = async () => ({
    bytes: await varnish.count("SMA.s0.g_bytes"),
    entries: await varnish.count("MAIN.n_object"),
  });
  const measureKind = async (paths: readonly string[]): Promise<KindCosts> => {
    const drive = (url: string, clients: number, seed: number) =>
      load.drive({ url, paths, headers, connections: clients, seconds, seed });
    const samples: { hit: number; miss: number }[] = [];
    const before = await cacheOf(hit.adminUrl);
    await load.drive({ url: hit.url, paths, headers, connections, requests: 2 * paths.length, order: "turns" });
    await drive(hit.url, connections, 1);
    await drive(miss.url, connections, 1);
    const after = await cacheOf(hit.adminUrl);
    const edgeBefore = await edgeOf();
    await load.drive({ url: varnish.url, paths, headers, connections, requests: paths.length, order: "turns" });
    const edgeAfter = await edgeOf();
    for (let round = 0; round < rounds; round++) {
      let requests = 1;
      const [own = 0] = await cpuDuring([hit.child.pid], async () => {
        ({ requests } = await drive(hit.url, connections, round));
      });
      let misses = 1;
      const [other = 0] = await cpuDuring([miss.child.pid], async () => {
        ({ requests: misses } = await drive(miss.url, connections, round));
      });
      samples.push({ hit: own / requests, miss: other / misses });
    }
    // PostgreSQL is rarely so busy that its processes do not have to be woken for each read.
    const readUs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      let reads = 1;
      const [cpuS = 0] = await cpuDuring([rig.postgresPid], async () => {
        const spec = { url: miss.url, paths, headers, connections: 32, isRandom: true, seed: round };
        ({ requests: reads } = await load.drive({ ...spec, rate: littleRate / 2, seconds }));
      });
      readUs.push(((cpuS - (idlePostgres / idleSeconds) * seconds) * 1e6) / reads);
    }
    const { quantilesMs: hitMs } = await drive(hit.url, 1, rounds);
    const { quantilesMs: missMs } = await drive(miss.url, 1, rounds);
    const us = (of: (sample: (typeof samples)[0]) => number) => rounded(median(samples.map(of)) * 1e6);
    return {
      hitUs: us((sample) => sample.hit),
      missUs: us((sample) => sample.miss),
      // The server's own work, such as a vacuum, may fall into a round.
      readUs: rounded(median(readUs)),
      hitLatencyUs: hitMs.map((ms) => rounded(ms * 1000)),
      missLatencyUs: missMs.map((ms) => rounded(ms * 1000)),
      replicaBytes: Math.round((after.bytes - before.bytes) / (after.entries - before.entries)),
      edgeBytes: Math.round((edgeAfter.bytes - edgeBefore.bytes) / (edgeAfter.entries - edgeBefore.entries)),
    };
  };
  log("personalization");
  const personalization = await measureKind(rig.personalization.slice(0, 2000));
  log("products");
  const product = await measureKind(rig.products.slice(0, 500));

  log("a replica with little load");
  const few = rig.personalization.slice(0, 500);
  await load.drive({ url: hit.url, paths: few, headers, connections, requests: 3 * few.length, order: "turns" });
  const littleS = littleRounds * seconds;
  let little = 1;
  const [littleCpu = 0] = await cpuDuring([hit.child.pid], async () => {
    const spec = { url: hit.url, paths: few, headers, connections: 32, isRandom: true };
    ({ requests: little } = await load.drive({ ...spec, rate: littleRate, seconds: littleS }));
  });
  const idleShare = 1 - littleCpu / littleS;
  const ownS = littleCpu - (idle / idleSeconds) * littleS - (little * personalization.hitUs) / 1e6;

  log("Varnish");
  const paths = rig.personalization.slice(-15_000);
  const edge = async (order: "turns" | "uniform", requests: number) => {
    const [used = 0] = await cpuDuring([varnish.pid], () =>
      load.drive({ url: varnish.url, paths, headers, connections, requests, order }),
    );
    return rounded((used / requests) * 1e6);
  };
  const missUs = await edge("turns", paths.length);
  const hitUs = await edge("uniform", 4 * paths.length);

  log("changes");
  const begunMs = performance.now();
  const [changed = 0, changedPostgres = 0] = await cpuDuring([hit.child.pid, rig.postgresPid], async () => {
    for (let count = 0; count < changes; count++) {
      await changeProduct(rig, rig.ids[count % rig.ids.length] ?? "", `c${count}`);
    }
    await Bun.sleep(1000);
  });
  const changingS = (performance.now() - begunMs) / 1000;

  log("a feed");
  const feed = await writeFeed(join(rig.folder, "costs"), feedSkus, { status: "A" });
  const store = await createDatabase(rig.databaseUrl, "costs");
  const imported: { cpuMs: number; elapsedMs: number } = { cpuMs: 0, elapsedMs: 0 };
  const [importPostgres = 0] = await cpuDuring([rig.postgresPid], async () => {
    Object.assign(imported, await runCommand(["import", "personalization", feed], { DATABASE_URL: store }));
  });
  const rows = feedSkus * rowsPerSku;

  const polls: number[] = [];
  for (let count = 0; count < 300; count++) {
    const startedMs = performance.now();
    await rig.sql`SELECT coalesce(max(id), 0) AS last FROM change`;
    polls.push((performance.now() - startedMs) * 1000);
  }
  return {
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${process.platform} ${process.arch}, Bun ${Bun.version}`,
    personalization,
    product,
    idle: { replica: rounded(idle / idleSeconds, 4), postgres: rounded(idlePostgres / idleSeconds, 4) },
    change: {
      replicaUs: rounded(Math.max(0, (changed - (idle / idleSeconds) * changingS) / changes) * 1e6),
      postgresUs: rounded(Math.max(0, (changedPostgres - (idlePostgres / idleSeconds) * changingS) / changes) * 1e6),
    },
    row: {
      importUs: rounded((imported.cpuMs * 1000) / rows, 2),
      postgresUs: rounded((importPostgres * 1e6) / rows, 2),
      elapsedUs: rounded((imported.elapsedMs * 1000) / rows, 2),
    },
    wakeUs: rounded((Math.max(0, ownS) * 1e6) / (little * idleShare)),
    varnish: { hitUs, missUs },
    pollUs: rounded(median(polls)),
  };
}

const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));
