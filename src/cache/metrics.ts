import { counter, gauge, type Metric } from "../base/metric.ts";
import type { ResponseCache } from "./response-cache.ts";

export function measureCache(cache: ResponseCache): Metric[] {
  const { hits, stale, misses, collapsed, failed, evicted, invalidated } = cache.counts;
  return [
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
    ),
    counter("cache_load_failures_total", "Cache misses that failed to load.", "", [[failed]]),
    counter("cache_removed_total", "Entries removed from the cache, by reason.", "reason", [
      [evicted, { reason: "evicted" }],
      [invalidated, { reason: "invalidated" }],
    ]),
    gauge("cache_bytes", "Size of the cache, including overhead.", "", [[cache.bytes]]),
    gauge("cache_max_bytes", "Maximum size of the cache.", "", [[cache.maxBytes]]),
    gauge("cache_entries", "Entries in the cache.", "", [[cache.size]]),
  ];
}
