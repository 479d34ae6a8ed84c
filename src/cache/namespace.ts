import type { MaybePromise } from "../base/maybe-promise.ts";
import type { CachePolicy } from "./policy.ts";
import type { ResponseBody } from "./response.ts";

export interface CacheEntry {
  /** Undefined when the object does not exist. */
  readonly body: ResponseBody | undefined;
  /** Whether the response has no data. Few are kept: clients can invent any number of keys. */
  readonly isEmpty: boolean;
  readonly fingerprints?: readonly number[];
}

export interface CacheLifetime {
  /** Whether the change log removes changed entries, so that a cached entry is current. */
  readonly isInvalidated: boolean;
  /** How long entries are served without reloading. */
  readonly freshMs: number;
  /** How long after that they are served while they are reloaded in the background. */
  readonly staleWhileRevalidateMs: number;
  /** How long after that they are served if reloading fails. */
  readonly staleIfErrorMs: number;
}

/** Responses of one operation, cached by key. */
export interface CacheNamespace extends CacheLifetime {
  readonly name: string;
  /**
   * @param origin the request that the key is loaded for
   * @throws any error when the key cannot be loaded
   */
  readonly load: (key: string, origin?: unknown) => MaybePromise<CacheEntry>;
}

/** Only a reload notices that a product has reached its maximum age in the store. */
const invalidatedFreshMs = 5 * 60_000;

/**
 * Lifetime of entries whose changes are recorded.
 * @param maxAgeS reload at least this often, in seconds
 */
export function invalidatedLifetime({ staleIfErrorS }: CachePolicy, maxAgeS = Number.POSITIVE_INFINITY): CacheLifetime {
  const staleIfErrorMs = staleIfErrorS * 1000;
  return {
    isInvalidated: true,
    freshMs: Math.min(invalidatedFreshMs, maxAgeS * 1000),
    staleWhileRevalidateMs: Math.max(invalidatedFreshMs, staleIfErrorMs),
    staleIfErrorMs,
  };
}

/** Lifetime of entries whose changes are not recorded: they are reloaded on request. */
export function polledLifetime({ staleIfErrorS }: CachePolicy, freshMs = 500): CacheLifetime {
  return { isInvalidated: false, freshMs, staleWhileRevalidateMs: 0, staleIfErrorMs: staleIfErrorS * 1000 };
}
