import type { Metric, MetricObject } from "prom-client";
import packageJson from "../../package.json" with { type: "json" };
import { toAnswer } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import { type Handler, noStore } from "../http/endpoint.ts";
import { durationBounds, type RequestCounter } from "../http/request-counter.ts";
import { type JobStatus, outcomes } from "../model/job.ts";

type Samples = readonly [value: number, labels?: Readonly<Record<string, string>>][];

/** What one process knows of itself. */
export interface ProcessMeters {
  readonly requests: RequestCounter;
  readonly memory: ResponseCache;
  readonly gates: readonly ConcurrencyLimiter[];
  readonly isStoreLost: () => boolean;
  /** Whether it answers requests, and does not only start those that do. */
  readonly isServing: boolean;
}

/** What the store knows, whichever process is asked. */
export interface StoreMeters {
  readonly jobStatus: () => Promise<JobStatus[]>;
  readonly generations: () => Promise<readonly { readonly brand: string; readonly generation: number }[]>;
}

/** Metrics of a process as data, so that those of several can be put together. */
export type ProcessMetrics = MetricObject[];

/** Loaded when somebody asks: at the start it would take a third of the time. */
const loadLibrary = () => import("prom-client");

/**
 * `GET /metrics`, in Prometheus' text format: what the store knows, and what each process does.
 * @param processes of all that serve
 */
export function getMetrics(store: StoreMeters, processes: () => Promise<ProcessMetrics[]>): Handler {
  return async () => {
    const [{ AggregatorRegistry, Gauge, Registry }, own] = await Promise.all([loadLibrary(), processes()]);
    const registry = new Registry();
    const gauge = (name: string, help: string, labelNames: string[], samples: Samples) => {
      const metric = new Gauge({ name, help, labelNames, registers: [registry] });
      for (const [value, labels = {}] of samples) metric.set(labels, value);
    };
    gauge(
      "pds_build_info",
      "1, labelled with the versions.",
      ["version", "runtime"],
      [[1, { version: packageJson.version, runtime: `bun ${Bun.version}` }]],
    );
    // Metrics that need the store are left out while it is lost: the others are all the more of use then.
    const generations = await store.generations().catch(() => []);
    gauge(
      "pds_personalization_generation",
      "Number of the generation that is served.",
      ["brand"],
      generations.map(({ brand, generation }) => [generation, { brand }]),
    );
    for (const [name, help, labels, samples] of describeJobs(await store.jobStatus().catch(() => []))) {
      gauge(`pds_job_${name}`, help, ["job", "brand", ...labels], samples);
    }
    const body = await Registry.merge([registry, AggregatorRegistry.aggregate(own)]).metrics();
    return toAnswer({ type: registry.contentType, body, headers: noStore });
  };
}

type Description = readonly [name: string, help: string, labels: string[], samples: Samples];

function describeJobs(statuses: readonly JobStatus[]): Description[] {
  const of = ({ job, brand }: JobStatus) => ({ job, brand });
  const each = (value: (status: JobStatus) => number | undefined): Samples =>
    statuses.flatMap((status) => {
      const found = value(status);
      return found === undefined ? [] : [[found, of(status)] as const];
    }) as Samples;
  const duration = ({ last }: JobStatus) =>
    last?.finishedAt == null ? undefined : (Date.parse(last.finishedAt) - Date.parse(last.startedAt)) / 1000;
  const outcomesOf = statuses.flatMap((status) =>
    outcomes.map((outcome) => [Number(status.last?.outcome === outcome), { ...of(status), outcome }] as const),
  );
  return [
    [
      "last_success_timestamp_seconds",
      "When the job last succeeded, in Unix time.",
      [],
      each((at) => toSeconds(at.lastSuccess)),
    ],
    ["last_success_age_seconds", "How long ago the job last succeeded.", [], each(({ age }) => age ?? undefined)],
    ["stale", "1 when that is too long ago.", [], each(({ isStale }) => Number(isStale))],
    ["running", "1 while a run is under way.", [], each(({ runningSince }) => Number(runningSince !== null))],
    [
      "next_run_timestamp_seconds",
      "When the schedule has it run next, in Unix time.",
      [],
      each((at) => toSeconds(at.next)),
    ],
    [
      "last_run_outcome",
      "1 for how the last run ended, 0 for the other outcomes.",
      ["outcome"],
      outcomesOf as unknown as Samples,
    ],
    [
      "last_run_timestamp_seconds",
      "When the last run ended, in Unix time.",
      [],
      each((at) => toSeconds(at.last?.finishedAt ?? null)),
    ],
    ["last_run_duration_seconds", "How long the last run took.", [], each(duration)],
    [
      "last_run_count",
      "What the last run counted, such as imported rows.",
      [],
      each(({ last }) => (last?.finishedAt == null ? undefined : last.counts)),
    ],
  ];
}

const toSeconds = (instant: string | null) => (instant === null ? undefined : Date.parse(instant) / 1000);

/** What a process does, as data. */
export async function measureProcess({
  requests,
  memory,
  gates,
  isStoreLost,
  isServing,
}: ProcessMeters): Promise<ProcessMetrics> {
  const { Counter, Gauge, Registry } = await loadLibrary();
  const registry = new Registry();
  const add =
    (type: typeof Counter | typeof Gauge) => (name: string, help: string, label: string, samples: Samples) => {
      const metric = new type({
        name: `pds_${name}`,
        help,
        labelNames: label === "" ? [] : [label],
        registers: [registry],
      });
      for (const [value, labels = {}] of samples) metric.inc(labels, value);
    };
  const [counter, gauge] = [add(Counter), add(Gauge)];
  registry.registerMetric(durationHistogram(requests) as unknown as Metric);

  const { hits, stale, misses, collapsed, failed, evicted, dropped } = memory.counts;
  counter(
    "memory_answers_total",
    "Answers by where they came from: `hit` from memory, `stale` from memory while the store cannot be asked, `miss` from the store, `collapsed` by waiting for another's.",
    "from",
    [
      [hits, { from: "hit" }],
      [stale, { from: "stale" }],
      [misses, { from: "miss" }],
      [collapsed, { from: "collapsed" }],
    ],
  );
  counter("memory_load_failures_total", "Answers that could not be found out.", "", [[failed]]);
  counter("memory_removed_total", "Answers that left the memory, by why.", "why", [
    [evicted, { why: "evicted" }],
    [dropped, { why: "changed" }],
  ]);
  gauge("memory_bytes", "Bytes of the answers in memory, with their overhead.", "", [[memory.bytes]]);
  gauge("memory_budget_bytes", "Bytes that they may take.", "", [[memory.budget]]);
  gauge("memory_entries", "Answers in memory.", "", [[memory.entries]]);

  const each = (value: (gate: ConcurrencyLimiter) => number): Samples =>
    gates.map((gate) => [value(gate), { gate: gate.name }]);
  counter(
    "gate_calls_total",
    "Calls to a store or platform.",
    "gate",
    each(({ counts }) => counts.calls),
  );
  counter(
    "gate_failures_total",
    "Calls that failed.",
    "gate",
    each(({ counts }) => counts.failed),
  );
  counter(
    "gate_refused_total",
    "Calls that were turned away.",
    "gate",
    each(({ counts }) => counts.refused),
  );
  counter(
    "gate_wait_seconds_total",
    "Time that calls waited for their turn.",
    "gate",
    each(({ counts }) => counts.waitedS),
  );
  counter(
    "gate_busy_seconds_total",
    "Time that calls took.",
    "gate",
    each(({ counts }) => counts.busyS),
  );
  gauge(
    "gate_inside",
    "Calls under way.",
    "gate",
    each((gate) => gate.inside),
  );
  gauge(
    "gate_waiting",
    "Calls that wait for their turn.",
    "gate",
    each((gate) => gate.waiting),
  );
  gauge("store_lost", "Processes that cannot reach the store.", "", [[Number(isStoreLost())]]);

  const { user, system } = process.cpuUsage();
  counter("process_cpu_seconds_total", "CPU time.", "", [[(user + system) / 1e6]]);
  gauge("process_resident_memory_bytes", "Resident memory.", "", [[process.memoryUsage.rss()]]);
  gauge("processes", "Processes that serve.", "", [[Number(isServing)]]);
  return await registry.getMetricsAsJSON();
}

/** Of a process that has ended what it counted goes on counting, and nothing else of it. */
export const countsOf = (metrics: ProcessMetrics): ProcessMetrics =>
  metrics.filter(({ type }) => `${type}` === "counter" || `${type}` === "histogram");

/** The counted durations in the library's form: it has no way of taking over what was counted elsewhere. */
function durationHistogram(requests: RequestCounter) {
  const name = "pds_http_request_duration_seconds";
  const values = requests.list().flatMap(({ route, method, status, buckets, sumS }) => {
    const labels = { route, method, status: `${status}` };
    let count = 0;
    const cumulated = [...buckets].map((answers, index) => {
      count += answers;
      return { metricName: `${name}_bucket`, labels: { ...labels, le: durationBounds[index] ?? "+Inf" }, value: count };
    });
    return [
      ...cumulated,
      { metricName: `${name}_sum`, labels, value: sumS },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
  const metric = { name, help: "How long answers took.", type: "histogram", aggregator: "sum", values };
  return { name, get: async () => metric };
}
