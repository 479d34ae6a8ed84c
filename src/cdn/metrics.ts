import { counter, gauge, type Metric } from "../base/metric.ts";
import type { PurgeStatus } from "./position.ts";

export type ProbeResult = "fresh" | "stale" | "failed";

export class PurgeCounter {
  sent = 0;
  failed = 0;
  tags = 0;
  kinds = 0;
  readonly probes: Record<ProbeResult, number> = { fresh: 0, stale: 0, failed: 0 };
}

export const measurePurgeStatus = (statuses: readonly PurgeStatus[]): Metric[] => [
  gauge(
    "purge_pending_changes",
    "Changes that have not been purged from the CDN.",
    "target",
    statuses.map(({ target, changes }) => [changes, { target }]),
  ),
  gauge(
    "purge_oldest_seconds",
    "Age of the oldest change that has not been purged from the CDN, or since when purges have failed.",
    "target",
    statuses.map(({ target, oldestS }) => [oldestS, { target }]),
  ),
];

export const measurePurges = ({ sent, failed, tags, kinds, probes }: PurgeCounter): Metric[] => [
  counter("purge_requests_total", "Purges sent to the CDN by result: `purged` or `failed`.", "result", [
    [sent, { result: "purged" }],
    [failed, { result: "failed" }],
  ]),
  counter("purge_tags_total", "Tags that were purged.", "", [[tags]]),
  counter(
    "purge_kinds_total",
    "Purges of all products or of all personalization, for example because there were more changes than the budget carries.",
    "",
    [[kinds]],
  ),
  counter(
    "purge_probes_total",
    "Probes of the CDN after a purge by result: `fresh`; `stale`, the response was still old; `failed`, there was no response.",
    "result",
    Object.entries(probes).map(([result, count]) => [count, { result }]),
  ),
];
