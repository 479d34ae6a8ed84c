import type { ProcessMetrics } from "./metrics.ts";

/** The counters of processes that have exited, so that the totals never decrease. */
export class ExitedMetrics {
  #counts: Promise<ProcessMetrics> = Promise.resolve([]);

  /** Sums of all processes; as large as the metrics of one. */
  get counts(): Promise<ProcessMetrics> {
    return this.#counts;
  }

  add(metrics: ProcessMetrics): void {
    const counters = metrics.filter(({ type }) => `${type}` === "counter" || `${type}` === "histogram");
    this.#counts = this.#counts.then(async (counts) => {
      const { AggregatorRegistry } = await import("prom-client");
      return await AggregatorRegistry.aggregate([counts, counters]).getMetricsAsJSON();
    });
  }
}
