import type { Standbys } from "../database/standbys.ts";
import type { AddMetric } from "./metrics.ts";

/**
 * Metrics of this process.
 * @param isServing false for a supervisor, which only checks the standbys
 */
export function addStandbyMetrics(
  { counts, list }: Standbys,
  isServing: boolean,
  counter: AddMetric,
  gauge: AddMetric,
): void {
  counter(
    "standby_reads_total",
    "Reads by result: `standby`, answered by one; `behind`, `unconfirmed`, or `failed`, left to the primary because a standby lacked changes, showed one that the primary lacked, or did not answer.",
    "result",
    Object.entries(counts).map(([result, count]) => [count, { result }]),
  );
  gauge(
    "standby_readers",
    "Processes that read from the standby.",
    "standby",
    list.map(({ name, problem }) => [Number(isServing && problem === undefined), { standby: name }]),
  );
  gauge(
    "standby_behind_changes",
    "Changes that the standby lacked at the last check, of those that a process had seen; the highest of all processes.",
    "standby",
    list.map(({ name, behind }) => [behind, { standby: name }]),
    "max",
  );
  gauge(
    "standby_behind_seconds",
    "Time since the first change was made that the standby lacked at the last check, in seconds; 0 if it lacked none. The highest of all processes.",
    "standby",
    list.map(({ name, behindS }) => [behindS, { standby: name }]),
    "max",
  );
}
