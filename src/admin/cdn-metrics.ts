import type { PurgeCounter } from "../cdn/counter.ts";
import type { PurgeStatus } from "../cdn/position.ts";
import type { AddMetric, Description } from "./metrics.ts";

/** Metrics from the store. */
export const describePurge = (statuses: readonly PurgeStatus[]): Description[] => [
  [
    "pending_changes",
    "Changes that have not been purged from the CDN.",
    ["target"],
    statuses.map(({ target, changes }) => [changes, { target }]),
  ],
  [
    "oldest_seconds",
    "Age of the oldest change that has not been purged from the CDN, or since when purges have failed.",
    ["target"],
    statuses.map(({ target, oldestS }) => [oldestS, { target }]),
  ],
];

/** Metrics of this process. */
export function addPurgeMetrics({ sent, failed, tags, kinds, probes }: PurgeCounter, counter: AddMetric): void {
  counter("purge_requests_total", "Purges sent to the CDN by result: `purged` or `failed`.", "result", [
    [sent, { result: "purged" }],
    [failed, { result: "failed" }],
  ]);
  counter("purge_tags_total", "Tags that were purged.", "", [[tags]]);
  counter(
    "purge_kinds_total",
    "Purges of all products or of all personalization, for example because there were more changes than the budget carries.",
    "",
    [[kinds]],
  );
  counter(
    "purge_probes_total",
    "Probes of the CDN after a purge by result: `fresh`; `stale`, the response was still old; `failed`, there was no response.",
    "result",
    Object.entries(probes).map(([result, count]) => [count, { result }]),
  );
}
