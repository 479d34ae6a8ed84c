import type { Metric, Registry } from "prom-client";
import packageJson from "../../package.json" with { type: "json" };
import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import { prepareResponse } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { type CatalogTruth, verifiedAges } from "../catalog/product-truth.ts";
import type { DeliveryCounter } from "../catalog/push/delivery-counter.ts";
import type { PushState } from "../catalog/push/state.ts";
import type { PurgeCounter } from "../cdn/counter.ts";
import type { PurgeStatus } from "../cdn/position.ts";
import { type Handler, noStore } from "../http/endpoint.ts";
import { durationBounds, type RequestCounter } from "../http/request-counter.ts";
import { type JobStatus, outcomes } from "../model/job.ts";
import { addPurgeMetrics, describePurge } from "./cdn-metrics.ts";
import type { HealthReadings, Reading } from "./health.ts";

type Samples = readonly (readonly [value: number, labels?: Readonly<Record<string, string>>])[];

/** Sources of a single process's metrics. */
export interface ProcessMeters {
  readonly requests: RequestCounter;
  readonly cache: ResponseCache;
  readonly limiters: readonly ConcurrencyLimiter[];
  readonly isStoreUnreachable: () => boolean;
  /** Undefined when the platform does not notify this service. */
  readonly deliveries: DeliveryCounter | undefined;
  /** Undefined when this process does not purge a CDN. */
  readonly purges: PurgeCounter | undefined;
}

/** Reads the store, which is the same for all processes, as far as it responds in time. */
export interface StoreReader {
  /** For a probe. */
  readonly readHealth: () => Promise<HealthReadings>;
  /** For a scrape. */
  readonly readAll: () => Promise<StoreReadings>;
}

/** Sources of the metrics from the store. */
export interface StoreReadings {
  readonly jobs: Reading<JobStatus[]>;
  readonly generations: Reading<readonly { readonly brand: string; readonly generation: number }[]>;
  readonly catalogTruth: Reading<CatalogTruth>;
  /** Undefined when the platform does not notify this service. */
  readonly push: Reading<PushState> | undefined;
  /** Undefined when this service does not purge a CDN. */
  readonly purge: Reading<PurgeStatus[]> | undefined;
}

/** Loaded on demand: it would take a third of the startup time. */
const loadLibrary = () => import("prom-client");

/** `GET /metrics` in Prometheus' text format: metrics from the store, and those of this process. */
export function getMetrics(store: StoreReader, meters: ProcessMeters): Handler {
  return async () => {
    const [{ Counter, Gauge, Registry }, readings] = await Promise.all([loadLibrary(), store.readAll()]);
    const registry = new Registry();
    const gauge = (name: string, help: string, labelNames: string[], samples: Samples) => {
      const metric = new Gauge({ name, help, labelNames, registers: [registry] });
      for (const [value, labels = {}] of samples) metric.set(labels, value);
    };
    gauge(
      "pds_build_info",
      "Always 1; the labels are the versions.",
      ["version", "runtime"],
      [[1, { version: packageJson.version, runtime: `bun ${Bun.version}` }]],
    );
    // Metrics that are not known are omitted, but the others matter even more.
    const { generations, catalogTruth, jobs, push, purge } = readings;
    const isIncomplete = Object.values(readings).some((reading) => reading?.problem !== undefined);
    gauge(
      "pds_store_metrics_missing",
      "1 if metrics from the store are missing, because it did not respond in time or could not be read.",
      [],
      [[Number(isIncomplete)]],
    );
    gauge(
      "pds_personalization_generation",
      "Number of the current generation.",
      ["brand"],
      (generations.value ?? []).map(({ brand, generation }) => [generation, { brand }]),
    );
    for (const [name, help, labels, samples] of catalogTruth.value ? describeCatalog(catalogTruth.value) : []) {
      gauge(`pds_catalog_${name}`, help, labels, samples);
    }
    for (const [name, help, labels, samples] of describeJobs(jobs.value ?? [])) {
      gauge(`pds_job_${name}`, help, ["job", "brand", ...labels], samples);
    }
    for (const [name, help, labels, samples] of push?.value ? describePush(push.value) : []) {
      gauge(`pds_push_${name}`, help, labels, samples);
    }
    for (const [name, help, labels, samples] of purge?.value ? describePurge(purge.value) : []) {
      gauge(`pds_purge_${name}`, help, labels, samples);
    }
    measureProcess(meters, registry, { Counter, Gauge });
    const body = await registry.metrics();
    return prepareResponse({ type: registry.contentType, body, headers: noStore });
  };
}

export type Description = readonly [name: string, help: string, labels: string[], samples: Samples];

function describeCatalog({ products, verified, unsettled, waiting }: CatalogTruth): Description[] {
  const ratios = verifiedAges.map(
    (age, index) => [products === 0 ? 1 : (verified[index] ?? 0) / products, { within: `${age}` }] as const,
  );
  return [
    [
      "verified_ratio",
      "Share of the platform's stored products that were known to be current within so many seconds; 1 without a platform.",
      ["within"],
      ratios,
    ],
    [
      "unsettled_products",
      "Stored products that must be read again, because they may have changed.",
      [],
      [[unsettled]],
    ],
    [
      "waiting_products",
      "Products that could not be stored for more than 60 seconds, because they change while they are read.",
      [],
      [[waiting]],
    ],
  ];
}

const jobGauges: readonly (readonly [name: string, help: string, value: (status: JobStatus) => number | undefined])[] =
  [
    [
      "last_success_timestamp_seconds",
      "Time of the last success, as a Unix timestamp.",
      ({ lastSuccess }) => toSeconds(lastSuccess),
    ],
    ["last_success_age_seconds", "Time since the last success.", ({ age }) => age ?? undefined],
    ["stale", "1 if the last success is too long ago.", ({ isStale }) => Number(isStale)],
    [
      "from_future",
      "1 if the newest run is in the future, because the database's clock was set back.",
      ({ isAhead }) => Number(isAhead),
    ],
    ["paused", "1 while the job is paused.", ({ pausedSince }) => Number(pausedSince !== null)],
    ["running", "1 while a run is in progress.", ({ runningSince }) => Number(runningSince !== null)],
    [
      "next_run_timestamp_seconds",
      "Time of the next scheduled run, as a Unix timestamp.",
      ({ next }) => toSeconds(next),
    ],
    [
      "last_run_timestamp_seconds",
      "End of the last run, as a Unix timestamp.",
      ({ last }) => toSeconds(last?.finishedAt ?? null),
    ],
    [
      "last_run_duration_seconds",
      "Duration of the last run.",
      ({ last }) => (last === null ? undefined : durationS(last)),
    ],
    [
      "last_run_records",
      "Number of records that the last run counted, such as imported rows.",
      ({ last }) => (last?.finishedAt == null ? undefined : last.counts),
    ],
  ];

function describeJobs(statuses: readonly JobStatus[]): Description[] {
  const gauges = jobGauges.map(([name, help, value]): Description => {
    const samples = statuses.flatMap((status): Samples => {
      const found = value(status);
      return found === undefined ? [] : [[found, labelsOf(status)]];
    });
    return [name, help, [], samples];
  });
  const byOutcome = statuses.flatMap((status) =>
    outcomes.map((outcome) => [Number(status.last?.outcome === outcome), { ...labelsOf(status), outcome }] as const),
  );
  const help = "1 for the outcome of the last run, 0 for the other outcomes.";
  return [...gauges, ["last_run_outcome", help, ["outcome"], byOutcome]];
}

const describePush = ({ queue, subscribed, uninstalledAt }: PushState): Description[] => [
  ["queue_products", "Products that were delivered and have not settled since.", [], [[queue.products]]],
  [
    "queue_oldest_seconds",
    "Age of the oldest delivery after which the product has not been read.",
    [],
    [[queue.oldestS]],
  ],
  [
    "subscriptions_missing",
    "Topics that `pds platform subscribe` arranged and the platform no longer delivers.",
    [],
    [[subscribed?.missing.length ?? 0]],
  ],
  ["app_removed", "1 after the shop removed the app.", [], [[Number(uninstalledAt !== undefined)]]],
];

const labelsOf = ({ job, brand }: JobStatus) => ({ job, brand });

const durationS = ({ startedAt, finishedAt }: { readonly startedAt: string; readonly finishedAt: string | null }) =>
  finishedAt === null ? undefined : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000;

const toSeconds = (instant: string | null) => (instant === null ? undefined : Date.parse(instant) / 1000);

type Types = Pick<typeof import("prom-client"), "Counter" | "Gauge">;

/** Adds the metrics of this process. */
function measureProcess(meters: ProcessMeters, registry: Registry, { Counter, Gauge }: Types): void {
  const add =
    (type: typeof Counter | typeof Gauge): AddMetric =>
    (name, help, labels, samples) => {
      const labelNames = labels === "" ? [] : labels.split(" ");
      const metric = new type({ name: `pds_${name}`, help, labelNames, registers: [registry] });
      for (const [value, labels = {}] of samples) metric.inc(labels, value);
    };
  const [counter, gauge] = [add(Counter), add(Gauge)];
  registry.registerMetric(durationHistogram(meters.requests) as unknown as Metric);

  addCacheMetrics(meters.cache, counter, gauge);
  addLimiterMetrics(meters.limiters, counter, gauge);
  if (meters.deliveries !== undefined) addDeliveryMetrics(meters.deliveries, counter);
  if (meters.purges !== undefined) addPurgeMetrics(meters.purges, counter);
  gauge("store_unreachable", "1 if this process cannot reach the store.", "", [[Number(meters.isStoreUnreachable())]]);
  const { user, system } = process.cpuUsage();
  counter("process_cpu_seconds_total", "CPU time.", "", [[(user + system) / 1e6]]);
  gauge("process_resident_memory_bytes", "Resident memory.", "", [[process.memoryUsage.rss()]]);
}

/** Adds a metric; `labels` are separated by spaces. */
export type AddMetric = (name: string, help: string, labels: string, samples: Samples) => void;

function addDeliveryMetrics(deliveries: DeliveryCounter, counter: AddMetric): void {
  counter(
    "webhook_deliveries_total",
    "Deliveries of the platform by topic and result: `accepted`, `ignored`, `forged`, `wrong_shop`, `too_large`, `unreadable`, or `unavailable`.",
    "topic result",
    deliveries.list().map(({ topic, result, count }) => [count, { topic, result }]),
  );
}

function addCacheMetrics(cache: ResponseCache, counter: AddMetric, gauge: AddMetric): void {
  const { hits, stale, misses, collapsed, failed, evicted, invalidated } = cache.counts;
  counter(
    "cache_responses_total",
    "Responses by cache result: `hit`; `stale`, served while the store is unreachable; `miss`; `collapsed`, shared with a concurrent miss.",
    "result",
    [
      [hits, { result: "hit" }],
      [stale, { result: "stale" }],
      [misses, { result: "miss" }],
      [collapsed, { result: "collapsed" }],
    ],
  );
  counter("cache_load_failures_total", "Cache misses that failed to load.", "", [[failed]]);
  counter("cache_removed_total", "Entries removed from the cache, by reason.", "reason", [
    [evicted, { reason: "evicted" }],
    [invalidated, { reason: "invalidated" }],
  ]);
  gauge("cache_bytes", "Size of the cache, including overhead.", "", [[cache.bytes]]);
  gauge("cache_max_bytes", "Maximum size of the cache.", "", [[cache.maxBytes]]);
  gauge("cache_entries", "Entries in the cache.", "", [[cache.size]]);
}

function addLimiterMetrics(limiters: readonly ConcurrencyLimiter[], counter: AddMetric, gauge: AddMetric): void {
  const add = (metric: AddMetric, name: string, help: string, value: (limiter: ConcurrencyLimiter) => number) =>
    metric(
      `limiter_${name}`,
      help,
      "limiter",
      limiters.map((limiter) => [value(limiter), { limiter: limiter.name }]),
    );
  add(counter, "calls_total", "Calls to the store or platform.", ({ counts }) => counts.calls);
  add(counter, "failures_total", "Calls that failed.", ({ counts }) => counts.failed);
  add(counter, "rejected_total", "Calls rejected by the concurrency limit.", ({ counts }) => counts.rejected);
  add(counter, "queue_seconds_total", "Time that calls spent in the queue.", ({ counts }) => counts.queuedS);
  add(counter, "busy_seconds_total", "Time that calls took.", ({ counts }) => counts.busyS);
  add(gauge, "active", "Calls in progress.", ({ active }) => active);
  add(gauge, "queued", "Calls in the queue.", ({ queued }) => queued);
}

/** The request durations as a histogram of the library, which cannot import counts otherwise. */
function durationHistogram(requests: RequestCounter) {
  const name = "pds_http_request_duration_seconds";
  const values = requests.list().flatMap(({ route, method, status, buckets, sumS }) => {
    const labels = { route, method, status: `${status}` };
    let count = 0;
    const cumulative = [...buckets].map((responses, index) => {
      count += responses;
      return { metricName: `${name}_bucket`, labels: { ...labels, le: durationBounds[index] ?? "+Inf" }, value: count };
    });
    return [
      ...cumulative,
      { metricName: `${name}_sum`, labels, value: sumS },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
  const metric = { name, help: "Duration of HTTP requests.", type: "histogram", aggregator: "sum", values };
  return { name, get: async () => metric };
}
