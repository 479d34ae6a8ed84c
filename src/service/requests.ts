import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import type { Log } from "../base/log.ts";
import { CompressionLoad } from "../cache/encoded-body.ts";
import { invalidate } from "../cache/invalidate.ts";
import { cacheHeaders } from "../cache/policy.ts";
import { verifiedForMs } from "../cache/response.ts";
import { ResponseCache } from "../cache/response-cache.ts";
import { createProductFinder } from "../catalog/product-finder.ts";
import { type Cdn, cdns } from "../cdn/headers.ts";
import { removePurgeStates } from "../cdn/position.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import { ChangeLog } from "../database/change-log.ts";
import { ClientNetworks } from "../http/client-network.ts";
import type { ListenerContext } from "../http/endpoint.ts";
import { FailureLog } from "../http/failure-log.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { RequestCounter } from "../http/request-counter.ts";
import { operations } from "../operations/index.ts";
import { namespacesByNoun } from "../operations/routes.ts";
import { PersonalizationReader } from "../personalization/reader.ts";
import type { Platform } from "../platforms/platform.ts";
import { type Connections, reconnectReads } from "./connections.ts";
import { createLimiters } from "./limiters.ts";
import type { Part } from "./parts.ts";
import type { PublicContext } from "./public.ts";

/** Everything that requests pass through: cache, limits, and the store or the platform. */
export interface RequestHandling extends Part {
  readonly state: { readonly isDraining: boolean };
  readonly meters: {
    readonly requests: RequestCounter;
    readonly cache: ResponseCache;
    readonly limiters: readonly ConcurrencyLimiter[];
    readonly isStoreUnreachable: () => boolean;
  };
  readonly networks: ClientNetworks;
  readonly sources: Omit<PublicContext, "config" | "readiness" | "webhooks">;
  /** Whether cached responses can be served while the store is unreachable. */
  servesWithoutStore(): boolean;
  readonly deliveryLimiter: ConcurrencyLimiter;
  /** The first error of a request that found the store damaged; undefined if none did. */
  readonly findDamage: () => unknown;
  forListener(listener: "public" | "admin"): ListenerContext;
}

/**
 * Connects the caches to the change log before anything is cached.
 * @param signal aborts when responses are the last on their connections
 */
export async function startRequestHandling(
  config: Config,
  connections: Connections,
  platform: Platform | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<RequestHandling> {
  const { serving, writer } = connections;
  const polling = new AbortController();
  const limiters = createLimiters(serving.engine.maxConcurrentReads);
  const changeLog = new ChangeLog();
  const namespaces = namespacesByNoun(operations);
  const policies = [config.cachePersonalization, config.cacheProducts];
  const servableMs = Math.max(verifiedForMs, ...policies.map(({ staleIfErrorS }) => staleIfErrorS * 1000));
  /** Whether the cache was verified recently enough to serve from it. */
  const isServable = () => performance.now() - changeLog.verifiedAtMs <= servableMs;
  const cache = new ResponseCache(config.memoryMegabytes * 2 ** 20, () => changeLog.verifiedAtMs);
  const personalization = new PersonalizationReader(config.brand, config.defaultLocale);
  const { stopped } = await changeLog.start(
    {
      database: serving,
      storeLimiter: limiters.store,
      log,
      onEvent: async (event) => {
        // Data from lost changes appears in no change log.
        if (event.kind === "replaced") personalization.forget();
        await invalidate(cache, namespaces, event);
        if (event.kind === "replaced") await removePurgeStates(writer);
      },
      onLost: () => reconnectReads(connections, config),
    },
    polling.signal,
  );
  const productFinder = await createProductFinder(
    { ...config, maxRemovedShare: maxRemovedShareOf(config) },
    { database: serving, writer, platform, limiters, log },
  );
  const state = { isDraining: signal.aborted };
  signal.addEventListener("abort", () => {
    state.isDraining = true;
  });
  const requests = new RequestCounter();
  const rateLimiter = new RateLimiter(config.rateLimit);
  const networks = new ClientNetworks(config);
  const failures = new FailureLog(log);
  const compressionLoad = new CompressionLoad();
  const cdn: Cdn | undefined = cdns[config.cdn];
  return {
    state,
    stop: () => {
      polling.abort();
      return stopped;
    },
    servesWithoutStore: () => isServable() && cache.hasResponses,
    deliveryLimiter: limiters.deliveries,
    findDamage: () => failures.damage,
    networks,
    meters: {
      requests,
      cache,
      limiters: Object.values(limiters),
      isStoreUnreachable: () => changeLog.isStoreUnreachable,
    },
    sources: {
      cache,
      operationContext: {
        settings: config,
        query: (run, network) => limiters.store.run(() => run(serving), network),
        ...productFinder,
        networkOf: (origin) => networks.of(origin),
        personalization,
      },
    },
    forListener: (listener) => ({
      failureLog: failures,
      requests,
      compressionLoad,
      lifecycle: state,
      rateLimiter: listener === "public" ? rateLimiter : undefined,
      networks,
      isPrivate: listener === "admin",
      sendsTiming: config.serverTiming === "on",
      notFoundCaching: cacheHeaders(config.cacheNotFound, cdn),
      cdnGuard: cdn && { field: cdn.cacheField, verifiedAtMs: () => changeLog.verifiedAtMs },
    }),
  };
}
