import { CacheInvalidator } from "../cache/invalidator.ts";
import { verifiedForMs } from "../cache/response.ts";
import { ResponseCache } from "../cache/response-cache.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { Config } from "../config/index.ts";
import type { Database } from "../database/database.ts";
import { removePurgeStates } from "../database/purge.ts";
import { openStandbys, type Standbys } from "../database/standbys.ts";
import type { Log } from "../log.ts";
import { operations } from "../operations/index.ts";
import { namespacesByNoun } from "../operations/routes.ts";
import { PersonalizationReader } from "../personalization/reader.ts";
import { type Connections, pooledOptions, reconnectReads, reportCommits } from "./connections.ts";
import { createPrimaryLimiter } from "./limiters.ts";

/** The store as requests read it: from caches, from standbys if there are any, and from the primary. */
export interface StoreReads {
  readonly cache: ResponseCache;
  readonly personalization: PersonalizationReader;
  /** For data whose changes are recorded, which may be read from standbys. */
  readonly database: Database;
  /** Limits the reads of the primary. */
  readonly primaryLimiter: ConcurrencyLimiter;
  readonly standbys: Standbys | undefined;
  readonly invalidator: CacheInvalidator;
  /** Whether the caches were verified lately enough to serve from them and from standbys. */
  isServable(): boolean;
  /** Settles when the signal has stopped cache invalidation and the checks of standbys. */
  readonly stopped: Promise<void>;
}

/** Connects caches and standbys to the change log, before anything is cached. */
export async function startStoreReads(
  config: Config,
  connections: Connections,
  storeLimiter: ConcurrencyLimiter,
  log: Log,
  signal: AbortSignal,
): Promise<StoreReads> {
  const { serving, writer } = connections;
  const invalidator = new CacheInvalidator();
  const policies = [config.cachePersonalization, config.cacheProducts];
  const servableMs = Math.max(verifiedForMs, ...policies.map(({ staleIfErrorS }) => staleIfErrorS * 1000));
  const isServable = () => performance.now() - invalidator.verifiedAtMs <= servableMs;
  const hasStandbys = config.databaseReadUrls.length > 0;
  const cache = new ResponseCache(config.memoryMegabytes * 2 ** 20, () => invalidator.verifiedAtMs, hasStandbys);
  const personalization = new PersonalizationReader(config.brand, config.defaultLocale);
  // Standbys go on answering while the primary is lost.
  const primaryLimiter = hasStandbys ? createPrimaryLimiter() : storeLimiter;
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
  return {
    cache,
    personalization,
    database: standbys === undefined ? serving : serving.readingBy(standbys.read),
    primaryLimiter,
    standbys,
    invalidator,
    isServable,
    stopped: Promise.all([stopped, standbys?.run(signal)]).then(() => {}),
  };
}
