import type { Standbys } from "../database/standbys.ts";
import type { AddMetric } from "./metrics.ts";

/** Metrics of this process. */
export function addStandbyMetrics({ counts, list }: Standbys, counter: AddMetric, gauge: AddMetric): void {
  counter(
    "standby_reads_total",
    "Reads by result: `standby`, answered by one; `behind` or `failed`, left to the primary because a standby lacked changes or did not answer.",
    "result",
    Object.entries(counts).map(([result, count]) => [count, { result }]),
  );
  gauge(
    "standby_readers",
    "Processes that read from the standby.",
    "standby",
    list.map(({ name, problem }) => [Number(problem === undefined), { standby: name }]),
  );
  gauge(
    "standby_behind_changes",
    "Changes that the standby lacked at the last check, of those that a process had seen; the highest of all processes.",
    "standby",
    list.map(({ name, behind }) => [behind, { standby: name }]),
    "max",
  );
}
