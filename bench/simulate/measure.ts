import { cpus } from "node:os";
import { join } from "node:path";
import { writeFeed } from "../support/feed.ts";
import type { LoadResult, LoadSpec } from "../support/load.ts";
import { LoadProcess } from "../support/measure.ts";
import { createDatabase } from "../support/postgres.ts";
import { type RunningService, runCommand } from "../support/service.ts";
import { median, sum } from "../support/statistics.ts";
import type { Costs, IdleCosts, Kind, KindCosts, MissCosts, Wakes } from "./costs.ts";
import {
  changeProduct,
  keptFor,
  type Rig,
  type Running,
  type RunningVarnish,
  type Shape,
  startFleet,
  untilPurged,
} from "./rig.ts";

/** Of each measurement. */
export const rounds = 5;
const connections = 8;
/** Requests per second: so few that they hardly wait for each other, and that each finds idle processes. */
const littleRate = { hits: 900, misses: 300 };
/** Requests per second for a replica, at which the cost of waking it is measured. */
const wakeRates = { hits: [20, 80, 300, 1000], misses: [10, 40, 150] };
/** Those that compress better at each request. */
const improvingRate = 300;
const fewReplicas = 3;
/** A process that was just started still compiles and collects garbage. */
const settlingS = 5;
const changesPerSecond = 20;
const feedSkus = 100_000;
const rowsPerSku = 3;
const kindPaths = { personalization: 2000, products: 500 };

/** As browsers ask. */
export const headers = { "Accept-Encoding": "gzip" };

/** Measures what requests, changes, and rows cost on this machine. @param seconds of each measurement */
export async function measureCosts(rig: Rig, seconds: number, log: (line: string) => void): Promise<Costs> {
  await using load = new LoadProcess();
  const measurement = { rig, load, seconds };
  const idle = await measureIdle(rig, load, seconds, log);
  log("changes");
  const change = await measureChanges(rig, load, seconds, idle);
  // One fleet after the other: even idle processes take time from others.
  const caches = await measureCaches(measurement, log);
  log("reads of the primary");
  const primary = await measureReads(measurement, false);
  log("reads of a standby");
  const standby = await measureReads(measurement, true);
  log("replicas with little load");
  const { replica, reading } = idle;
  const hits = await measureWakes(
    { ...measurement, shape: {}, paths: rig.personalization.slice(0, 500), rates: wakeRates.hits },
    { us: caches.personalization.hitUs, idleShare: replica.replica },
  );
  const misses = await measureWakes(
    {
      ...measurement,
      shape: { hasStandby: true, environment: { ...behindVarnish.environment, ...uncached } },
      paths: pathsOf(rig).personalization,
      rates: wakeRates.misses,
    },
    { us: standby.personalization.us, idleShare: replica.replica + reading.replica },
  );
  log("a feed");
  return {
    workUs: rounded(rig.meter.workUs ?? 0, 2),
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${process.platform} ${process.arch}, Bun ${Bun.version}`,
    personalization: {
      ...caches.personalization,
      primary: primary.personalization,
      standby: standby.personalization,
    },
    product: { ...caches.product, primary: primary.product, standby: standby.product },
    idle,
    change,
    wakes: { hits, misses },
    varnish: caches.varnish,
    row: await measureFeed(rig),
    pollUs: await measurePolls(rig),
  };
}

/**
 * Requests per second that Varnish answers while others are idle: on a machine that sleeps in between,
 * processes take more CPU for the same.
 */
const otherRate = 500;

/** Replicas behind Varnish, which keeps everything. */
const behindVarnish = {
  replicas: fewReplicas,
  edgeMegabytes: 64,
  isPurged: false,
  environment: keptFor(86_400),
};

/** Of servers without replicas, and of replicas without requests. */
async function measureIdle(
  rig: Rig,
  load: LoadProcess,
  seconds: number,
  log: (line: string) => void,
): Promise<Costs["idle"]> {
  const servers = [rig.postgresPid, rig.standbyPid];
  log("idle servers");
  const [postgres = 0, standby = 0] = (await rig.meter.during(servers, () => Bun.sleep(seconds * 1000))).map(
    (cpuS) => cpuS / seconds,
  );
  const measureFleet = async (label: string, shape: Partial<Shape>): Promise<IdleCosts> => {
    log(label);
    await using fleet = await startFleet(rig, { ...behindVarnish, ...shape });
    if (shape.isPurged) await untilPurged(rig);
    const pids = [...servers, ...fleet.replicas.map(({ child }) => child.pid)];
    const [ofPostgres = 0, ofStandby = 0, ...own] = await cpuBesideRequests(pids, fleet, { rig, load, seconds });
    const share = (cpuS: number, without: number) => rounded(Math.max(0, cpuS / seconds - without) / fewReplicas, 5);
    return {
      replica: share(sum(own), 0),
      postgres: share(ofPostgres, postgres),
      standby: share(ofStandby, standby),
    };
  };
  const replica = await measureFleet("idle replicas", {});
  const compare = (costs: IdleCosts): IdleCosts => {
    const added = (name: keyof IdleCosts) => rounded(Math.max(0, costs[name] - replica[name]), 5);
    return { replica: added("replica"), postgres: added("postgres"), standby: added("standby") };
  };
  const purging = compare(await measureFleet("idle replicas that purge", { isPurged: true, environment: {} }));
  const { replica: ofReplica, standby: ofStandby } = compare(
    await measureFleet("idle replicas that read from a standby", { hasStandby: true }),
  );
  // The primary has nothing more to do for them.
  const reading = { replica: ofReplica, standby: ofStandby };
  return { postgres: rounded(postgres, 5), standby: rounded(standby, 5), replica, purging, reading };
}

interface Measurement {
  readonly rig: Rig;
  readonly load: LoadProcess;
  readonly seconds: number;
}

/** CPU seconds of processes that other requests do not reach. */
async function cpuBesideRequests(
  pids: readonly number[],
  { varnish }: Running,
  { rig, load, seconds }: Measurement,
  work: () => Promise<unknown> = async () => {},
): Promise<number[]> {
  const spec = otherRequests(rig, varnish);
  await load.drive({ ...spec, seconds: settlingS });
  return await rig.meter.during(pids, () => Promise.all([load.drive({ ...spec, seconds }), work()]));
}

const otherRequests = ({ personalization }: Rig, varnish: RunningVarnish | undefined) => ({
  url: varnish?.url ?? "",
  paths: personalization.slice(0, 100),
  headers,
  connections,
  rate: otherRate,
  isRandom: true,
});

async function measureChanges(
  rig: Rig,
  load: LoadProcess,
  seconds: number,
  idle: Costs["idle"],
): Promise<Costs["change"]> {
  const changes = changesPerSecond * seconds;
  await using fleet = await startFleet(rig, { ...behindVarnish, isPurged: true, environment: {} });
  await untilPurged(rig);
  const pids = [rig.postgresPid, rig.standbyPid, ...fleet.replicas.map(({ child }) => child.pid)];
  const [ofPostgres = 0, ofStandby = 0, ...own] = await cpuBesideRequests(
    pids,
    fleet,
    { rig, load, seconds },
    async () => {
      const begunMs = performance.now();
      for (let count = 0; count < changes; count++) {
        await Bun.sleep(Math.max(0, begunMs + (count * 1000) / changesPerSecond - performance.now()));
        await changeProduct(rig, rig.ids[count % rig.ids.length] ?? "", `c${count}`);
      }
    },
  );
  const cost = (cpuS: number, idleShare: number) => rounded((Math.max(0, cpuS - idleShare * seconds) * 1e6) / changes);
  const { replica, purging } = idle;
  return {
    replicaUs: cost(sum(own) / fewReplicas, replica.replica + purging.replica),
    postgresUs: cost(ofPostgres, idle.postgres + fewReplicas * (replica.postgres + purging.postgres)),
    standbyUs: cost(ofStandby, idle.standby),
  };
}

interface Subject extends Measurement {
  readonly services: readonly RunningService[];
  readonly paths: readonly string[];
}

const pathsOf = ({ personalization, products }: Rig) => ({
  personalization: personalization.slice(0, kindPaths.personalization),
  product: products.slice(0, kindPaths.products),
});

type CacheCosts = Omit<KindCosts, "primary" | "standby">;

async function measureCaches(
  measurement: Measurement,
  log: (line: string) => void,
): Promise<Record<Kind, CacheCosts> & { readonly varnish: Costs["varnish"] }> {
  const { rig, load } = measurement;
  await using fleet = await startFleet(rig, { replicas: fewReplicas, edgeMegabytes: 256, isPurged: false });
  const { varnish, replicas: services } = fleet;
  if (varnish === undefined) throw new Error("Varnish is not running");
  const paths = pathsOf(rig);
  const subject = { ...measurement, services, varnish };
  log("cached personalization");
  const personalization = await measureCache({ ...subject, paths: paths.personalization });
  log("cached products");
  const product = await measureCache({ ...subject, paths: paths.product });
  log("Varnish");
  const rest = rig.personalization.slice(kindPaths.personalization);
  return { personalization, product, varnish: await measureVarnish(rig, varnish, load, rest) };
}

/** Of replicas. */
const uncached = { MEMORY_MEGABYTES: "0" };

async function measureReads(measurement: Measurement, hasStandby: boolean): Promise<Record<Kind, MissCosts>> {
  const { rig } = measurement;
  await using fleet = await startFleet(rig, {
    replicas: fewReplicas,
    edgeMegabytes: undefined,
    isPurged: false,
    hasStandby,
    environment: uncached,
  });
  const paths = pathsOf(rig);
  const subject = { ...measurement, services: fleet.replicas, server: hasStandby ? rig.standbyPid : rig.postgresPid };
  return {
    personalization: await measureMisses({ ...subject, paths: paths.personalization }),
    product: await measureMisses({ ...subject, paths: paths.product }),
  };
}

const pidsOf = (services: readonly RunningService[]) => services.map(({ child }) => child.pid);

/**
 * Random requests at a low rate, to all services together.
 * @returns latencies as in most rounds: the machine stops for milliseconds now and then
 */
async function driveLittle(
  { load, services, paths, seconds }: Subject,
  rate: number,
  other?: LoadSpec,
): Promise<{ readonly requests: number; readonly latencyUs: readonly number[] }> {
  const results: LoadResult[] = [];
  for (let round = 0; round < rounds; round++) {
    const specs = services.map(({ url }, index) => ({
      url,
      paths,
      headers,
      connections: 32,
      isRandom: true,
      between: "poll" as const,
      rate: rate / services.length,
      seconds: seconds / rounds,
      seed: round * services.length + index,
    }));
    const others = other === undefined ? [] : [{ ...other, seconds: seconds / rounds }];
    results.push(...(await load.driveAll([...specs, ...others])).slice(0, specs.length));
  }
  const latencyUs = (results[0]?.quantilesMs ?? []).map((_, index) =>
    rounded(median(results.map(({ quantilesMs }) => quantilesMs[index] ?? 0)) * 1000),
  );
  return { requests: sum(results.map(({ requests }) => requests)), latencyUs };
}

/** Of responses in caches. */
async function measureCache(subject: Subject & { readonly varnish: RunningVarnish }): Promise<CacheCosts> {
  const { rig, load, services, paths, varnish } = subject;
  const cacheBytes = async () => await Promise.all(services.map(cacheOf));
  const before = await cacheBytes();
  const inTurns = (url: string) =>
    ({ url, paths, headers, connections, requests: paths.length, order: "turns" }) as const;
  const all = (rate?: number) =>
    load.driveAll(services.map(({ url }) => ({ ...inTurns(url), ...(rate !== undefined && { rate }) })));
  await all();
  // The second time, a replica compresses better. Only one at a time: more of them would be skipped.
  const improving = sum(await rig.meter.during(pidsOf(services), () => all(improvingRate)));
  const improved = sum(await rig.meter.during(pidsOf(services), () => all(improvingRate)));
  const after = await cacheBytes();
  const added = (gauge: "bytes" | "entries") =>
    sum(after.map((cache) => cache[gauge])) - sum(before.map((cache) => cache[gauge]));
  const edgeOf = async () => ({
    bytes: await varnish.count("SMA.s0.g_bytes"),
    entries: await varnish.count("MAIN.n_object"),
  });
  const edgeBefore = await edgeOf();
  await load.drive(inTurns(varnish.url));
  const edgeAfter = await edgeOf();
  const { latencyUs } = await driveLittle(subject, littleRate.hits);
  return {
    hitUs: await measureBusy(subject),
    hitLatencyUs: latencyUs,
    improveUs: rounded((Math.max(0, improving - improved) * 1e6) / (paths.length * services.length)),
    replicaBytes: Math.round(added("bytes") / added("entries")),
    edgeBytes: Math.round((edgeAfter.bytes - edgeBefore.bytes) / (edgeAfter.entries - edgeBefore.entries)),
  };
}

/** CPU per response of a busy replica. */
async function measureBusy({ rig, load, services: [service], paths, seconds }: Subject): Promise<number> {
  if (service === undefined) throw new Error("no replica is running");
  const samples: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    let requests = 1;
    const [cpuS = 0] = await rig.meter.during([service.child.pid], async () => {
      const spec = { url: service.url, paths, headers, connections, seconds: seconds / 20, seed: round };
      ({ requests } = await load.drive(spec));
    });
    // The first round warms up.
    if (round > 0) samples.push((cpuS * 1e6) / requests);
  }
  return rounded(median(samples));
}

async function measureMisses(subject: Subject & { readonly server: number }): Promise<MissCosts> {
  const { rig, server, seconds } = subject;
  const us = await measureBusy(subject);
  const [idleS = 0] = await rig.meter.during([server], () => Bun.sleep((seconds * 1000) / 2));
  // A server is rarely so busy that its processes do not have to be woken for each read.
  let result: Awaited<ReturnType<typeof driveLittle>> = { requests: 1, latencyUs: [] };
  const [cpuS = 0] = await rig.meter.during([server], async () => {
    result = await driveLittle(subject, littleRate.misses);
  });
  const { requests, latencyUs } = result;
  return { us, storeUs: rounded((Math.max(0, cpuS - 2 * idleS) * 1e6) / requests), latencyUs };
}

/** The cache of a replica. */
async function cacheOf({ adminUrl }: RunningService): Promise<{ readonly bytes: number; readonly entries: number }> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1]);
  return { bytes: gauge("pds_cache_bytes"), entries: gauge("pds_cache_entries") };
}

/**
 * Beside requests that Varnish answers, as the idle share was measured.
 * @param us CPU of a request to a busy replica
 * @param idleShare of a core, that a replica takes without requests
 */
async function measureWakes(
  {
    shape,
    rates,
    ...measurement
  }: Measurement & {
    readonly shape: Partial<Shape>;
    readonly paths: readonly string[];
    readonly rates: readonly number[];
  },
  { us, idleShare }: { readonly us: number; readonly idleShare: number },
): Promise<Wakes> {
  const { rig, load, seconds, paths } = measurement;
  await using fleet = await startFleet(rig, { ...behindVarnish, ...shape });
  const services = fleet.replicas;
  const ofReplicasS = seconds * services.length;
  const other = otherRequests(rig, fleet.varnish);
  await load.drive({ ...other, seconds: settlingS });
  await load.driveAll(
    services.map(({ url }) => ({ url, paths, headers, connections, requests: 2 * paths.length, order: "turns" })),
  );
  const wakes: Wakes[number][] = [];
  for (const perSecond of rates) {
    let requests = 1;
    const cpuS = sum(
      await rig.meter.during(pidsOf(services), async () => {
        ({ requests } = await driveLittle({ ...measurement, services }, perSecond * services.length, other));
      }),
    );
    const wakingS = Math.max(0, cpuS - idleShare * ofReplicasS - (requests * us) / 1e6);
    // As many requests find a replica idle as it is idle.
    wakes.push({ perSecond, us: rounded((wakingS * 1e6) / (requests * (1 - cpuS / ofReplicasS))) });
  }
  return wakes;
}

async function measureVarnish(
  rig: Rig,
  { url, pid }: RunningVarnish,
  load: LoadProcess,
  paths: readonly string[],
): Promise<Costs["varnish"]> {
  const perRequest = async (order: "turns" | "uniform", requests: number) => {
    const [cpuS = 0] = await rig.meter.during([pid], () =>
      load.drive({ url, paths, headers, connections, requests, order }),
    );
    return rounded((cpuS / requests) * 1e6);
  };
  const missUs = await perRequest("turns", paths.length);
  return { missUs, hitUs: await perRequest("uniform", 4 * paths.length) };
}

async function measureFeed(rig: Rig): Promise<Costs["row"]> {
  const feed = await writeFeed(join(rig.folder, "costs"), feedSkus, { status: "A" });
  const store = await createDatabase(rig.databaseUrl, "costs");
  const imported = { cpuMs: 0, elapsedMs: 0 };
  const [postgres = 0, standby = 0] = await rig.meter.during([rig.postgresPid, rig.standbyPid], async () => {
    Object.assign(imported, await runCommand(["import", "personalization", feed], { DATABASE_URL: store }));
    await Bun.sleep(1000);
  });
  const perRow = (us: number) => rounded(us / (feedSkus * rowsPerSku), 2);
  return {
    importUs: perRow(imported.cpuMs * 1000),
    postgresUs: perRow(postgres * 1e6),
    standbyUs: perRow(standby * 1e6),
    elapsedUs: perRow(imported.elapsedMs * 1000),
  };
}

async function measurePolls({ sql }: Rig): Promise<number> {
  const polls: number[] = [];
  for (let count = 0; count < 300; count++) {
    const startedMs = performance.now();
    await sql`SELECT coalesce(max(id), 0) AS last FROM change`;
    polls.push((performance.now() - startedMs) * 1000);
  }
  return rounded(median(polls));
}

const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));
