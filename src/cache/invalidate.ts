import type { LogEvent } from "../database/change-log.ts";
import type { ResponseCache } from "./response-cache.ts";

/**
 * Removes the responses that may be outdated after an event of the change log.
 * @param namespaces the cache namespaces whose responses are made from a noun
 */
export async function invalidate(
  cache: ResponseCache,
  namespaces: ReadonlyMap<string, readonly string[]>,
  event: LogEvent,
): Promise<void> {
  if (event.kind !== "advanced") return cache.clear();
  for (const change of event.changes) {
    for (const namespace of namespaces.get(change.noun) ?? []) {
      if (change.noun === "personalization") await cache.invalidateMatching(namespace, change.fingerprints);
      else if (change.key === undefined) await cache.invalidateMatching(namespace, undefined);
      else cache.invalidate(namespace, change.key);
    }
  }
}
