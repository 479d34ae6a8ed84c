import { LRUCache } from "lru-cache";
import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import { ServiceError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { backoff } from "../base/time.ts";
import type { Database } from "../database/database.ts";
import { isDatabaseError } from "../database/index.ts";
import { type Platform, UnusableProductError } from "../platforms/platform.ts";
import { keptReason } from "./guards.ts";
import { keepStoredFields } from "./kept-fields.ts";
import { LookupBudget } from "./lookup-budget.ts";
import type { FoundProduct } from "./product.ts";
import { refreshProduct } from "./refresh.ts";

export interface ProductLookupOptions {
  readonly findStored: (id: bigint, network?: () => string) => Promise<FoundProduct | undefined>;
  readonly findStoredId: (handle: string, network?: () => string) => Promise<bigint | undefined>;
  readonly isKnownMissing: (id: bigint, network?: () => string) => Promise<boolean>;
  /** A separate connection, so that writers waiting for each other do not delay readers. */
  readonly writer: Database;
  readonly platform: Platform;
  /** Separate limits for requests to the platform, and for its refreshes in the background. */
  readonly limiters: Readonly<Record<"platform" | "refresh", ConcurrencyLimiter>>;
  readonly log: Log;
  /** Also limits refreshes: arbitrary identifiers must not use up the platform's budget. */
  readonly lookupsPerMinute: number;
  /** In seconds. */
  readonly productMaxAge: number;
  /** Share of the stored products, from 0 to 1, that may be removed within 24 hours. */
  readonly maxRemovedShare: number;
}

const unreachable = "The platform cannot be reached at the moment";

/** A fault of the product must not look like an outage of the platform. */
const unusable = "The platform has the product in a form that cannot be served";

/** The log has the reason, which may quote the platform. */
const toServiceError = (cause: unknown) =>
  new ServiceError("unavailable", cause instanceof UnusableProductError ? unusable : unreachable, { cause });

const missingTtlMs = 60_000;
const failedTtlMs = 10_000;
const maxCachedFailures = 10_000;
/** A client waits briefly; a refresh of the largest product takes long. */
const timeoutMs = { live: 8000, refresh: 15 * 60_000 } as const;
/** The wait for an unsettled product doubles with each read; after the last, catalog-sync reads it. */
const rereadMarginMs = 500;
const maxRereads = 5;

type ReadPriority = keyof typeof timeoutMs;

export class ProductLookup {
  readonly #options: ProductLookupOptions;
  readonly #failures = new LRUCache<string, "missing" | "failed" | UnusableProductError>({ max: maxCachedFailures });
  readonly #reads = new Map<string, Promise<FoundProduct | undefined>>();
  readonly #idReads = new Map<string, Promise<bigint | undefined>>();
  readonly #lookups: LookupBudget;
  /** Separate from lookups, so that stale products do not use up the budget of new ones. */
  readonly #refreshes: LookupBudget;

  constructor({ platform, ...options }: ProductLookupOptions) {
    this.#options = { ...options, platform: keepStoredFields(platform, options.writer) };
    this.#lookups = new LookupBudget(options.lookupsPerMinute);
    this.#refreshes = new LookupBudget(options.lookupsPerMinute);
  }

  /**
   * Returns the stored product at once and refreshes a stale one in the background. A product that
   * is not stored is read from the platform, unless the platform is known not to have it.
   * @param network returns the network of the client
   * @throws ServiceError `unavailable` when nothing is stored and the platform cannot be read
   */
  async find(id: bigint, network?: () => string): Promise<FoundProduct | undefined> {
    const key = `${id}`;
    const stored = await this.#options.findStored(id, network);
    if (stored !== undefined) {
      if (this.#isStale(stored)) this.#refresh(id);
      return stored;
    }
    const pending = this.#reads.get(key);
    if (pending !== undefined) return await pending;
    const failure = this.#failures.get(key);
    if (failure === "missing") return undefined;
    if (await this.#options.isKnownMissing(id, network)) return undefined;
    if (failure instanceof UnusableProductError) throw toServiceError(failure);
    if (failure === "failed" || !this.#lookups.take(network?.())) throw this.#options.limiters.platform.rejection();
    return await (this.#reads.get(key) ?? this.#read(id, "live", 0, network));
  }

  /**
   * Finds a product by its handle in the store or on the platform, and then stores it.
   * @param network returns the network of the client
   * @throws ServiceError `unavailable` when nothing is stored and the platform cannot be read
   */
  async findId(handle: string, network?: () => string): Promise<bigint | undefined> {
    const key = `handle:${handle}`;
    const stored = await this.#options.findStoredId(handle, network);
    if (stored !== undefined) return stored;
    const pending = this.#idReads.get(key);
    if (pending !== undefined) return await pending;
    const failure = this.#failures.get(key);
    if (failure === "missing") return undefined;
    if (failure instanceof UnusableProductError) throw toServiceError(failure);
    if (failure === "failed" || !this.#lookups.take(network?.())) throw this.#options.limiters.platform.rejection();
    const read = this.#readId(handle, key, network).finally(() => this.#idReads.delete(key));
    this.#idReads.set(key, read);
    return await read;
  }

  async #readId(handle: string, key: string, network?: () => string): Promise<bigint | undefined> {
    const { limiters, platform, findStoredId } = this.#options;
    const options = { priority: "live", signal: AbortSignal.timeout(timeoutMs.live) } as const;
    const id = await this.#ask(limiters.platform, key, () => platform.findProductId(handle, options), network);
    // It may be stored under another handle.
    const read = id === undefined ? undefined : (this.#reads.get(`${id}`) ?? this.#read(id, "live", 0, network));
    await read?.catch((error) => {
      this.#cacheFailure(key, error.cause);
      throw error;
    });
    // The platform may have matched another spelling of the handle.
    const stored = id === undefined ? undefined : await findStoredId(handle, network);
    if (stored === undefined) this.#failures.set(key, "missing", { ttl: missingTtlMs });
    return stored;
  }

  #isStale({ checkedAt }: FoundProduct): boolean {
    return checkedAt === null || Date.now() - Date.parse(checkedAt) > this.#options.productMaxAge * 1000;
  }

  #refresh(id: bigint): void {
    const key = `${id}`;
    if (this.#reads.has(key) || this.#failures.has(key) || !this.#refreshes.take()) return;
    this.#readInBackground(id, 0);
  }

  #readInBackground(id: bigint, rereads: number): void {
    this.#read(id, "refresh", rereads).catch((error) =>
      this.#options.log.warn({ product: `${id}`, err: error }, "product refresh failed"),
    );
  }

  #read(
    id: bigint,
    priority: ReadPriority,
    rereads: number,
    network?: () => string,
  ): Promise<FoundProduct | undefined> {
    const key = `${id}`;
    const read = this.#readAndStore(id, priority, rereads, network).finally(() => this.#reads.delete(key));
    this.#reads.set(key, read);
    return read;
  }

  async #readAndStore(
    id: bigint,
    priority: ReadPriority,
    rereads: number,
    network: (() => string) | undefined,
  ): Promise<FoundProduct | undefined> {
    const { limiters, log, findStored, platform, writer: database, maxRemovedShare } = this.#options;
    const limiter = priority === "live" ? limiters.platform : limiters.refresh;
    const key = `${id}`;
    const refresh = () => {
      const signal = AbortSignal.timeout(timeoutMs[priority]);
      return refreshProduct(id, { priority, signal }, { database, platform, maxRemovedShare });
    };
    const { outcome, isSettled } = await this.#ask(limiter, key, refresh, network);
    if (!isSettled && rereads < maxRereads) this.#scheduleReread(id, rereads);
    if (outcome === "kept") log.warn({ product: key }, `the product ${keptReason}`);
    if (outcome === "changing") log.warn({ product: key }, "the product changes while it is read");
    if (outcome === "gone") this.#failures.set(key, "missing", { ttl: missingTtlMs });
    if (outcome === "gone") return undefined;
    const stored = await findStored(id);
    if (stored === undefined) {
      this.#cacheFailure(key);
      throw new ServiceError("unavailable", "The product is changing on the platform at the moment");
    }
    return stored;
  }

  /** Asks the platform within the limit, and caches a failure under the key. */
  async #ask<T>(
    limiter: ConcurrencyLimiter,
    key: string,
    request: () => Promise<T>,
    network: (() => string) | undefined,
  ): Promise<T> {
    let hasBegun = false;
    const begin = () => {
      hasBegun = true;
      return request();
    };
    return await limiter.run(begin, network).catch((cause) => {
      // A full queue says nothing about the product, and may be full for one network only.
      if (isDatabaseError(cause) || !hasBegun) throw cause;
      this.#cacheFailure(key, cause);
      throw toServiceError(cause);
    });
  }

  #cacheFailure(key: string, cause?: unknown): void {
    if (cause instanceof UnusableProductError) this.#failures.set(key, cause, { ttl: missingTtlMs });
    else this.#failures.set(key, "failed", { ttl: failedTtlMs });
  }

  #scheduleReread(id: bigint, rereads: number): void {
    const waitMs = backoff(rereads + 1, this.#options.platform.rereadMs + rereadMarginMs);
    const timer = setTimeout(() => {
      if (!this.#reads.has(`${id}`)) this.#readInBackground(id, rereads + 1);
    }, waitMs);
    timer.unref();
  }
}
