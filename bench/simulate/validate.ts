import type { LoadResult, LoadSpec } from "../support/load.ts";
import { LoadProcess } from "../support/measure.ts";
import { percentile, sum } from "../support/statistics.ts";
import type { Costs } from "./costs.ts";
import { type Prediction, predict } from "./fleet.ts";
import { headers, rounds } from "./measure.ts";
import { type Fleet, toFleet } from "./parameters.ts";
import { changeProduct, keptFor, type Rig, type Running, startFleet, untilPurged } from "./rig.ts";

/** A quantity of the model, and the same from a run. */
export interface Comparison {
  readonly point: string;
  readonly quantity: string;
  readonly predicted: number;
  readonly measured: number;
}

export const skus = 10_000;
export const products = 1000;

interface Point {
  readonly name: string;
  readonly fleet: Partial<Fleet>;
}

const common: Partial<Fleet> = {
  skus,
  products,
  replicas: 3,
  routing: "any",
  points_of_presence: 1,
  cdn: "varnish",
  edge_megabytes: 512,
  product_changes_per_second: 0,
  feed_changes: 0,
  feed_rows: 0,
  standbys: 1,
};

/** All processes share a core here, and must hardly wait for it, as each would have one in the model. */
const points: readonly Point[] = [
  {
    name: "no CDN, little memory",
    fleet: {
      cdn: "none",
      purge: "off",
      requests_per_second: 900,
      personalization_share: 1,
      memory_megabytes: 2,
    },
  },
  {
    name: "purged by changes",
    fleet: { requests_per_second: 800, personalization_share: 0, product_changes_per_second: 20 },
  },
  {
    name: "expiring after 10 s",
    fleet: { requests_per_second: 1200, personalization_share: 0.7, purge: "off", edge_seconds: 10 },
  },
  {
    name: "a small CDN, purged",
    fleet: {
      requests_per_second: 1000,
      personalization_share: 0.5,
      product_changes_per_second: 20,
      edge_megabytes: 6,
    },
  },
];

const probes = 30;
/** Eviction takes this many requests for each address to settle. */
const settlingRequests = 6;
/** Replicas compress only one response at a time better, and skip others. */
const improvingRate = 300;
/** Changes take this many times the measurement until caches are as after a long time of them. */
const settlingRounds = 3;

/** Compares the model with runs of three replicas, PostgreSQL, and Varnish. */
export async function validate(
  rig: Rig,
  costs: Costs,
  seconds: number,
  log: (line: string) => void,
  onCompared: (comparisons: readonly Comparison[]) => void,
): Promise<void> {
  for (const point of points) {
    log(point.name);
    const fleet = toFleet({ ...common, ...point.fleet });
    const measured = await run(rig, fleet, seconds);
    const actual = { ...fleet, product_changes_per_second: measured.changes };
    // A run is too short for replicas to read again what did not change.
    onCompared(compare(point.name, predict(actual, costs, Number.POSITIVE_INFINITY), measured));
  }
}

interface Measured {
  /** Per second, as they came by chance. */
  readonly changes: number;
  /** Of shoppers, at replicas, and of those that replicas read from the store, per second. */
  readonly requests: number;
  readonly origin: number;
  readonly reads: number;
  /** CPU of all replicas, and of PostgreSQL. */
  readonly replicaCores: number;
  readonly databaseCores: number;
  readonly standbyCores: number;
  readonly p99Ms: number | undefined;
  /** From a change until the edge has it. */
  readonly freshS: readonly number[];
}

async function run(rig: Rig, fleet: Fleet, wantedSeconds: number): Promise<Measured> {
  const isPurged = fleet.purge === "on";
  await using running = await startFleet(rig, {
    replicas: fleet.replicas,
    hasStandby: fleet.standbys > 0,
    edgeMegabytes: fleet.cdn === "none" ? undefined : fleet.edge_megabytes,
    isPurged,
    environment: {
      MEMORY_MEGABYTES: `${fleet.memory_megabytes}`,
      ...(!isPurged && keptFor(fleet.edge_seconds)),
    },
  });
  const streams = listStreams(rig, running, fleet);
  await using load = new LoadProcess();
  const drive = (seconds: number, seed: number) =>
    load.driveAll(
      streams.map(({ url, paths, rate }, index) => ({
        url,
        headers,
        paths,
        rate,
        seconds,
        order: "zipf",
        isRandom: true,
        between: "poll",
        connections: 32,
        seed: seed + index,
        checked: 0,
      })),
    );
  if (isPurged) await untilPurged(rig);
  await warm(running, streams, load);
  const stop = new AbortController();
  const changing = changeAtRandom(rig, fleet.product_changes_per_second, stop.signal);
  await drive(fleet.product_changes_per_second > 0 ? settlingRounds * wantedSeconds : wantedSeconds, 100);
  const before = { ...(await countAll(running)), changes: changing.count };
  const begunMs = performance.now();
  const results: LoadResult[] = [];
  const pids = [rig.postgresPid, rig.standbyPid, ...running.replicas.map(({ child }) => child.pid)];
  const [databaseS = 0, standbyS = 0, ...replicasS] = await rig.meter.during(pids, async () => {
    for (let round = 0; round < rounds; round++)
      results.push(...(await drive(wantedSeconds / rounds, 200 + 10 * round)));
  });
  const seconds = (performance.now() - begunMs) / 1000;
  const after = { ...(await countAll(running)), changes: changing.count };
  const perSecond = (count: keyof typeof after) => (after[count] - before[count]) / seconds;
  const freshS = isPurged ? await probe(rig, running) : [];
  stop.abort();
  await changing.ended;
  const requests = sum(results.map((result) => result.requests)) / seconds;
  const p99s = results.map((result) => result.p99Ms);
  return {
    changes: perSecond("changes"),
    requests,
    origin: fleet.cdn === "none" ? requests : perSecond("fetches"),
    reads: perSecond("misses"),
    replicaCores: sum(replicasS) / seconds,
    databaseCores: databaseS / seconds,
    standbyCores: standbyS / seconds,
    // Behind Varnish, most responses are its own.
    p99Ms: fleet.cdn === "none" ? percentile(p99s, 0.5) : undefined,
    freshS,
  };
}

interface Stream {
  readonly url: string;
  readonly paths: readonly string[];
  readonly rate: number;
}

function listStreams(rig: Rig, { replicas, varnish }: Running, fleet: Fleet): Stream[] {
  const kinds = [
    { paths: rig.personalization, share: fleet.personalization_share },
    { paths: rig.products, share: 1 - fleet.personalization_share },
  ].filter(({ share }) => share > 0);
  const urls = varnish === undefined ? replicas.map(({ url }) => url) : [varnish.url];
  return kinds.flatMap(({ paths, share }) =>
    urls.map((url) => ({ url, paths, rate: (fleet.requests_per_second * share) / urls.length })),
  );
}

/** Brings caches near to where they are after a long time: all responses compressed, and eviction settled. */
async function warm({ replicas, varnish }: Running, streams: readonly Stream[], load: LoadProcess): Promise<void> {
  const lists = [...new Set(streams.map(({ paths }) => paths))];
  const turns = (url: string, paths: readonly string[]) =>
    ({
      url,
      headers,
      paths: paths.toReversed(),
      connections: 8,
      checked: 0,
      order: "turns",
      requests: paths.length,
    }) as const;
  const driveReplicas = (toSpec: (url: string, paths: readonly string[]) => LoadSpec) =>
    load.driveAll(replicas.flatMap(({ url }) => lists.map((paths) => toSpec(url, paths))));
  const settling = (url: string, paths: readonly string[], seed: number) =>
    ({ ...turns(url, paths), paths, order: "zipf", requests: settlingRequests * paths.length, seed }) as const;
  await driveReplicas(turns);
  if (varnish === undefined) {
    await driveReplicas((url, paths) => settling(url, paths, 50));
    return;
  }
  await load.driveAll(replicas.map(({ url }) => ({ ...turns(url, lists.flat()), rate: improvingRate })));
  await load.driveAll(lists.map((paths) => turns(varnish.url, paths)));
  // At the same time, so that they compete for its memory.
  await load.driveAll(
    streams.map(({ paths, rate }, index) => ({ ...settling(varnish.url, paths, index), rate: 4 * rate })),
  );
}

interface Changing {
  count: number;
  readonly ended: Promise<void>;
}

/** Changes at random instants until the signal aborts. */
function changeAtRandom(rig: Rig, perSecond: number, signal: AbortSignal): Changing {
  const run = async () => {
    // From one to the next, so that the time of a change does not lower the rate.
    let dueMs = performance.now();
    while (perSecond > 0 && !signal.aborted) {
      dueMs += (-Math.log1p(-Math.random()) / perSecond) * 1000;
      await Bun.sleep(Math.max(0, dueMs - performance.now()));
      const id = rig.ids[Math.floor(Math.random() * rig.ids.length)] ?? "";
      await changeProduct(rig, id, `v${Math.random()}`);
      changing.count++;
    }
  };
  const changing: Changing = { count: 0, ended: Promise.resolve().then(run) };
  return changing;
}

async function countAll({ replicas, varnish }: Running) {
  const texts = await Promise.all(replicas.map(async ({ adminUrl }) => (await fetch(`${adminUrl}/metrics`)).text()));
  const misses = texts.map((text) => Number(/^pds_cache_responses_total\{result="miss"\} (\d+)/m.exec(text)?.[1]));
  return {
    misses: sum(misses),
    fetches: (await varnish?.count("MAIN.s_fetch")) ?? 0,
  };
}

/** Changes products that are rarely requested, and reads them at the edge until they are new. */
async function probe(rig: Rig, { varnish }: Running): Promise<number[]> {
  const took: number[] = [];
  for (const [index, id] of rig.ids.slice(-probes).entries()) {
    const url = `${varnish?.url}/products/${id}`;
    const read = async () => (await fetch(url, { headers })).headers.get("etag");
    const old = await read();
    await Bun.sleep(Math.random() * 300);
    await changeProduct(rig, id, `p${index}-${Math.random()}`);
    const begunMs = performance.now();
    while ((await read()) === old) await Bun.sleep(5);
    took.push((performance.now() - begunMs) / 1000);
  }
  return took;
}

function compare(point: string, prediction: Prediction, measured: Measured): Comparison[] {
  const { edge, origin, replicas, database, fresh } = prediction;
  const { requests_per_second: rate, cdn } = prediction.fleet;
  const row = (quantity: string, predicted: number, value: number) => ({ point, quantity, predicted, measured: value });
  const scale = measured.requests / rate;
  const missRatio = 1 - replicas.hitRatio;
  return [
    ...(cdn === "none"
      ? []
      : [
          row("hit ratio of the CDN", edge.hitRatio, 1 - measured.origin / measured.requests),
          row("requests at replicas, per second", origin.requestsPerSecond * scale, measured.origin),
        ]),
    row("hit ratio of replicas", replicas.hitRatio, 1 - measured.reads / measured.origin),
    row("reads of the store, per second", missRatio * origin.requestsPerSecond * scale, measured.reads),
    row("CPU of replicas, cores", replicas.utilization * replicas.count, measured.replicaCores),
    row("CPU of PostgreSQL, cores", database.cores, measured.databaseCores),
    ...(database.standbyCores === undefined
      ? []
      : [row("CPU of the standby, cores", database.standbyCores, measured.standbyCores)]),
    ...(measured.p99Ms === undefined ? [] : [row("p99 of replicas, ms", replicas.p99Ms, measured.p99Ms)]),
    ...(measured.freshS.length === 0 || fresh.edge === undefined
      ? []
      : [
          row("fresh at the CDN, median, s", fresh.edge.p50S, percentile(measured.freshS, 0.5)),
          row("fresh at the CDN, 99 %, s", fresh.edge.p99S, percentile(measured.freshS, 0.99)),
        ]),
  ];
}
