import packageJson from "../../package.json" with { type: "json" };
import { hashTag } from "../base/hash.ts";
import type { Log } from "../base/log.ts";
import { createFetch } from "../base/outgoing.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { followChanges } from "../cdn/follower.ts";
import { PurgeCounter } from "../cdn/metrics.ts";
import type { PurgeOptions } from "../cdn/options.ts";
import { readPurgeStatus } from "../cdn/position.ts";
import { Prober } from "../cdn/prober.ts";
import { createTargets } from "../cdn/targets.ts";
import type { Config } from "../config/index.ts";
import type { Change } from "../database/change.ts";
import type { Database } from "../database/database.ts";
import { toFormPath } from "../operations/form.ts";
import type { Part } from "./parts.ts";

interface PurgingContext {
  readonly database: Database;
  readonly holder: string;
  readonly cache: ResponseCache;
  readonly originUrl: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export type Purging = ReturnType<typeof createPurging>;

export function createPurging(config: Config, purge: PurgeOptions) {
  const { purgeToken, publicUrl: edgeUrl } = config;
  const targets = createTargets(purge, purgeToken);
  const counter = new PurgeCounter();
  const fetch = createFetch(config);
  return {
    counter,
    readStatus: (database: Database) => Promise.all(targets.map(({ name }) => readPurgeStatus(database, name))),
    /** Follows the changes until the signal aborts. */
    start: ({ database, holder, cache, originUrl, log, signal }: PurgingContext): Part => {
      const sent = { counter, log, fetch, signal };
      const prober = edgeUrl === "" ? undefined : new Prober({ ...sent, edgeUrl, originUrl: toReachable(originUrl) });
      const onSettled = (changes: readonly Change[]) => prober?.probe(toPaths(changes, cache));
      const following = followChanges({ database, holder, targets, form: formOf(config), ...sent, onSettled });
      return { stop: () => following.then(() => prober?.stopped) };
    },
  };
}

/**
 * Identifies everything that responses depend on besides the data: version and settings. Any part
 * of an endpoint's request may determine which cache it purges.
 */
export const formOf = ({ shopDomain, brand, visible, defaultLocale, purge }: Config): string => {
  const endpoint = purge?.cdn === "generic" ? purge : null;
  return hashTag(JSON.stringify([packageJson.version, shopDomain, brand, visible, defaultLocale, endpoint]));
};

/** SKUs are those that this process has dropped from its cache. */
function toPaths(changes: readonly Change[], cache: ResponseCache): string[] {
  const keys = changes.flatMap((change) => (change.noun === "product" ? (change.key ?? []) : []));
  // A handle that is no longer used would cause a lookup on the platform.
  const ids = keys.filter((key) => /^\d+$/.test(key));
  const hasSkus = changes.some(({ noun }) => noun === "personalization");
  const skus = hasSkus ? cache.takeInvalidated("personalization") : [];
  const forms = hasSkus ? cache.takeInvalidated("form") : [];
  return [
    ...ids.map((id) => `/api/v1/products/${id}`),
    ...skus.map((sku) => `/api/v1/products/pz/${encodeURIComponent(sku)}`),
    ...forms.map((key) => `/api/v1/products/form/${toFormPath(key)}`),
  ];
}

function toReachable(url: string): string {
  return url.replace(/^(https?:\/\/)(0\.0\.0\.0|\[::\])/, "$1localhost");
}
