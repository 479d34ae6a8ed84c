import type { Registry } from "prom-client";
import packageJson from "../../package.json" with { type: "json" };
import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import { counter, gauge, type Metric } from "../base/metric.ts";
import { prepareResponse } from "../cache/response.ts";
import { type Handler, noStore } from "./endpoint.ts";
import { durationBounds, type RequestCounter } from "./request-counter.ts";

/** `GET /metrics` in the Prometheus text format. */
export function getMetrics(measure: () => Promise<readonly Metric[]>, requests: RequestCounter): Handler {
  return async () => {
    // Loaded on demand: it would take a third of the startup time.
    const [{ Counter, Gauge, Registry }, metrics] = await Promise.all([import("prom-client"), measure()]);
    const registry = new Registry();
    for (const { type, name, help, labels, samples } of [buildInfo, ...metrics, ...measureProcess()]) {
      const options = { name: `pds_${name}`, help, labelNames: labels, registers: [registry] };
      const metric = type === "counter" ? new Counter(options) : new Gauge(options);
      for (const [value, ofLabels = {}] of samples) {
        if (metric instanceof Gauge) metric.set(ofLabels, value);
        else metric.inc(ofLabels, value);
      }
    }
    registry.registerMetric(durationHistogram(requests) as unknown as Parameters<Registry["registerMetric"]>[0]);
    const body = await registry.metrics();
    return prepareResponse({ type: registry.contentType, body, headers: noStore, isRead: true });
  };
}

const buildInfo = gauge("build_info", "Always 1; the labels are the versions.", "version runtime", [
  [1, { version: packageJson.version, runtime: `bun ${Bun.version}` }],
]);

function measureProcess(): Metric[] {
  const { user, system } = process.cpuUsage();
  return [
    counter("process_cpu_seconds_total", "CPU time.", "", [[(user + system) / 1e6]]),
    gauge("process_resident_memory_bytes", "Resident memory.", "", [[process.memoryUsage.rss()]]),
  ];
}

export function measureLimiters(limiters: readonly ConcurrencyLimiter[]): Metric[] {
  const measure = (metric: typeof gauge, name: string, help: string, value: (limiter: ConcurrencyLimiter) => number) =>
    metric(
      `limiter_${name}`,
      help,
      "limiter",
      limiters.map((limiter) => [value(limiter), { limiter: limiter.name }]),
    );
  return [
    measure(counter, "calls_total", "Calls to the store or platform.", ({ counts }) => counts.calls),
    measure(counter, "failures_total", "Calls that failed.", ({ counts }) => counts.failed),
    measure(counter, "rejected_total", "Calls rejected by the concurrency limit.", ({ counts }) => counts.rejected),
    measure(counter, "queue_seconds_total", "Time that calls spent in the queue.", ({ counts }) => counts.queuedS),
    measure(counter, "busy_seconds_total", "Time that calls took.", ({ counts }) => counts.busyS),
    measure(gauge, "active", "Calls in progress.", ({ active }) => active),
    measure(gauge, "queued", "Calls in the queue.", ({ queued }) => queued),
  ];
}

/** Builds a histogram of the library, which offers no other way to import counts. */
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
