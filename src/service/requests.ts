import type { ProcessMeters } from "../admin/metrics.ts";
import { CacheInvalidator, type Outage } from "../cache/invalidator.ts";
import { verifiedForMs } from "../cache/response.ts";
import { ResponseCache } from "../cache/response-cache.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { Config } from "../config/index.ts";
import { removePurgeStates } from "../database/purge.ts";
import { openStandbys } from "../database/standbys.ts";
import { ClientNetworks } from "../http/client-network.ts";
import { ConnectionLimiter } from "../http/connection-limiter.ts";
import type { ListenerContext } from "../http/endpoint.ts";
import { FailureLog } from "../http/failure-log.ts";
import { PipelineLimiter } from "../http/pipeline-limiter.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { RequestCounter } from "../http/request-counter.ts";
import type { Log } from "../log.ts";
import { cacheHeaders, cdnNoStore } from "../model/cache-policy.ts";
import { type Cdn, cdns, gatherMs } from "../model/cdn.ts";
import { operations } from "../operations/index.ts";
import { namespacesByNoun } from "../operations/routes.ts";
import { PersonalizationReader } from "../personalization/reader.ts";
import type { Platform } from "../platforms/platform.ts";
import { type Connections, pooledOptions, reconnectReads, reportCommits } from "./connections.ts";
import { createLimiters, createPrimaryLimiter } from "./limiters.ts";
import { createProductFinder } from "./product-finder.ts";
import type { PublicContext } from "./public.ts";

/** How long a response may be on its way to a cache in which what changes is purged. */
const deliveryMs = 10;

/** Everything that requests pass through: cache, limits, and the store or the platform. */
export interface RequestHandling {
  readonly state: { isDraining: boolean };
  readonly meters: Omit<ProcessMeters, "deliveries" | "purges" | "isServing">;
  readonly rateLimiter: RateLimiter;
  readonly connectionLimiter: ConnectionLimiter;
  readonly networks: ClientNetworks;
  readonly sources: Omit<PublicContext, "readiness" | "pages" | "webhooks">;
  /** Whether this process has cached responses that it serves while the store is unreachable. */
  servesWithoutStore(): boolean;
  /** Number of the last change that the cache of this process has noticed. */
  lastChange(): number;
  /** The last time that the store could not be reached. */
  outage(): Outage | undefined;
  readonly deliveryLimiter: ConcurrencyLimiter;
  /** Returns what the endpoints of a listener share. */
  forListener(listener: "public" | "admin"): ListenerContext;
  /** Settles when the signal has stopped cache invalidation. */
  readonly stopped: Promise<void>;
}

export async function startRequestHandling(
  config: Config,
  connections: Connections,
  platform: Platform | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<RequestHandling> {
  const { serving, writer } = connections;
  const invalidator = new CacheInvalidator();
  const policies = [config.cachePersonalization, config.cacheProducts];
  const staleIfErrorMs = policies.map((policy) => policy.staleIfErrorS * 1000);
  const servedUnverifiedMs = Math.max(verifiedForMs, ...staleIfErrorMs);
  const isServable = () => performance.now() - invalidator.verifiedAtMs <= servedUnverifiedMs;
  const hasStandbys = config.databaseReadUrls.length > 0;
  const cache = new ResponseCache(config.memoryMegabytes * 2 ** 20, () => invalidator.verifiedAtMs, hasStandbys);
  const personalization = new PersonalizationReader(config.brand, config.defaultLocale);
  const limiters = createLimiters(serving.engine.maxConcurrentReads);
  // Standbys go on answering while the primary is lost.
  const primaryLimiter = hasStandbys ? createPrimaryLimiter() : limiters.store;
  /** What was made from another store, or from changes that are lost, is in no log of changes. */
  const forget = async () => {
    personalization.forget();
    cache.clear();
    await removePurgeStates(writer);
  };
  const standbys = hasStandbys
    ? await openStandbys({
        primary: serving,
        urls: config.databaseReadUrls,
        connect: pooledOptions(config),
        limiter: primaryLimiter,
        isCurrent: isServable,
        onForeign: forget,
        log,
      })
    : undefined;
  const database = standbys === undefined ? serving : serving.readingBy(standbys.read);
  if (standbys !== undefined) reportCommits(connections, (newest) => standbys.note(newest));
  const { stopped } = await invalidator.start(
    {
      database: serving,
      cache,
      namespaces: namespacesByNoun(operations),
      storeLimiter: primaryLimiter,
      log,
      onSeen: (newest, isOtherLog) => standbys?.note(newest, isOtherLog),
      onChangesLost: forget,
      onLost: () => reconnectReads(connections, config),
    },
    signal,
  );
  const checked = standbys?.run(signal);

  const productFinder = await createProductFinder(config, {
    database,
    primary: { database: serving, limiter: primaryLimiter },
    writer,
    platform,
    limiters,
    log,
  });
  const state = { isDraining: false };
  const requests = new RequestCounter();
  const rateLimiter = new RateLimiter(config.rateLimit);
  const networks = new ClientNetworks(config);
  const connectionLimiter = new ConnectionLimiter(config.connectionLimit, networks);
  const failures = new FailureLog(log);
  const cdn: Cdn | undefined = cdns[config.cdn];
  return {
    state,
    stopped: Promise.all([stopped, checked]).then(() => {}),
    servesWithoutStore: () => isServable() && (cache.hasResponses || standbys?.isUsable === true),
    lastChange: () => invalidator.lastChange,
    outage: () => invalidator.outage,
    deliveryLimiter: limiters.deliveries,
    rateLimiter,
    connectionLimiter,
    networks,
    meters: {
      requests,
      connectionLimiter,
      cache,
      limiters: [...new Set([...Object.values(limiters), primaryLimiter])],
      standbys,
      isStoreUnreachable: () => invalidator.isStoreUnreachable,
    },
    sources: {
      cache,
      operationContext: {
        config,
        query: (run) => primaryLimiter.run(() => run(serving)),
        ...productFinder,
        networkOf: (origin) => networks.of(origin),
        findPersonalization: (sku, network) => limiters.store.run(() => personalization.find(database, sku), network),
        findPersonalizations: (skus, network) =>
          limiters.store.run(() => personalization.findAll(database, skus), network),
        findForm: (sku, locale, network) =>
          limiters.store.run(() => personalization.findForm(database, sku, locale), network),
      },
    },
    forListener: (listener) => ({
      failureLog: failures,
      requests,
      lifecycle: state,
      rateLimiter: listener === "public" ? rateLimiter : undefined,
      connectionLimiter: listener === "public" ? connectionLimiter : undefined,
      pipelineLimiter: new PipelineLimiter(),
      networks,
      isPrivate: listener === "admin",
      sendsTiming: config.serverTiming === "on",
      notFoundCaching: cacheHeaders(config.cacheNotFound, cdn),
      agedAfterMs: cdn?.removesAge ? gatherMs - deliveryMs : verifiedForMs,
      cdnGuard: cdn && { field: cdn.cacheField, noStore: cdnNoStore, verifiedAtMs: () => invalidator.verifiedAtMs },
    }),
  };
}
