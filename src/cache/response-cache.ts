import { LRUCache } from "lru-cache";
import { attempt, type MaybePromise } from "../maybe-promise.ts";
import type { CacheEntry, CacheNamespace } from "./namespace.ts";
import { PreparedResponse } from "./response.ts";

interface StoredEntry {
  readonly namespace: CacheNamespace;
  readonly key: string;
  readonly entry: CacheEntry;
  readonly response: PreparedResponse | undefined;
  /** When it was loaded, or reloaded without a difference. */
  loadedAtMs: number;
  /** It is not reloaded before this time. */
  retryAtMs: number;
  /** It is served without an LRU lookup until this time. */
  hotUntilMs: number;
}

interface PendingLoad {
  readonly namespace: CacheNamespace;
  readonly stale: StoredEntry | undefined;
  result: Promise<PreparedResponse | undefined>;
  /** Whether the data changed during the load, so that the result must not be stored. */
  isInvalidated: boolean;
}

/** Counts since the process started. */
export interface CacheCounts {
  hits: number;
  stale: number;
  misses: number;
  collapsed: number;
  failed: number;
  evicted: number;
  invalidated: number;
}

/** Estimated overhead of an entry: keys, headers, and tables. */
const bytesPerEntry = 2048;
const maxEmptyEntries = 10_000;
/** How long an empty result is served, and how long after a failure the next load may start. */
const emptyFreshMs = 10_000;
const retryDelayMs = 1000;
/** Invalidation yields to the event loop after this many entries. */
const entriesPerTurn = 5000;

/**
 * Hot entries skip the LRU lookup for this long: it would take as long as the rest of a cache hit.
 */
const hotMs = 1000;

const noResult = Promise.resolve(undefined);

/** Caches prepared responses, and collapses concurrent loads of the same key into one. */
export class ResponseCache {
  readonly counts: CacheCounts = { hits: 0, stale: 0, misses: 0, collapsed: 0, failed: 0, evicted: 0, invalidated: 0 };
  readonly #entries: LRUCache<string, StoredEntry> | undefined;
  readonly #emptyEntries: LRUCache<string, StoredEntry> | undefined;
  readonly #hot = new Map<CacheNamespace, Map<string, StoredEntry>>();
  readonly #pending = new Map<string, PendingLoad>();
  readonly #unverifiedMs: (nowMs: number) => number;
  readonly maxBytes: number;

  /**
   * @param maxBytes 0 disables caching
   * @param unverifiedMs time since entries could last be invalidated; 0 while invalidation works
   */
  constructor(maxBytes: number, unverifiedMs: (nowMs: number) => number) {
    this.#unverifiedMs = unverifiedMs;
    this.maxBytes = maxBytes;
    if (maxBytes === 0) return;
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ entry }) => (entry.body?.size ?? 0) + bytesPerEntry,
      dispose: (stored, _id, reason) => {
        this.#hot.get(stored.namespace)?.delete(stored.key);
        if (reason === "evict") this.counts.evicted++;
      },
    });
    this.#emptyEntries = new LRUCache({ max: maxEmptyEntries });
  }

  get bytes(): number {
    return this.#entries?.calculatedSize ?? 0;
  }

  get size(): number {
    return (this.#entries?.size ?? 0) + (this.#emptyEntries?.size ?? 0);
  }

  /**
   * The response for a key: without a promise when it is cached, or loaded without one.
   * @returns undefined when the object does not exist
   * @param nowMs by `performance.now()`
   * @throws the load's error when nothing is cached that may be served instead
   */
  get(namespace: CacheNamespace, key: string, nowMs = performance.now()): MaybePromise<PreparedResponse | undefined> {
    const unverifiedMs = this.#unverifiedMs(nowMs);
    const hot = this.#hot.get(namespace)?.get(key);
    if (hot !== undefined && nowMs < hot.hotUntilMs && unverifiedMs === 0) {
      this.counts.hits++;
      return hot.response;
    }
    const id = `${namespace.name}/${key}`;
    const stored = this.#entries?.get(id) ?? this.#emptyEntries?.get(id);
    if (stored === undefined) return this.#load(namespace, key, id, undefined);
    if (unverifiedMs > 0) return this.#getUnverified(stored, id, nowMs);
    const sinceLoadMs = nowMs - stored.loadedAtMs;
    if (sinceLoadMs < namespace.freshMs) {
      this.counts.hits++;
      if (!stored.entry.isEmpty) this.#markHot(stored, nowMs);
      return stored.response;
    }
    if (stored.entry.isEmpty) return this.#load(namespace, key, id, undefined);
    if (sinceLoadMs > namespace.freshMs + namespace.staleWhileRevalidateMs) {
      return this.#load(namespace, key, id, stored);
    }
    if (nowMs >= stored.retryAtMs && !this.#pending.has(id)) this.#revalidate(stored, id);
    // No change was recorded, so this is as good as any other hit.
    this.counts.hits++;
    return stored.response;
  }

  /** Removes one key after its data has changed. */
  invalidate(namespace: string, key: string): void {
    const id = `${namespace}/${key}`;
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.#discardResult(id, pending);
    if (this.#entries?.delete(id) || this.#emptyEntries?.delete(id)) this.counts.invalidated++;
  }

  /**
   * Removes the entries that were built from changed data.
   * @param fingerprints of the changed data; undefined removes the whole namespace
   */
  async invalidateMatching(namespace: string, fingerprints: ReadonlySet<number> | undefined): Promise<void> {
    for (const [id, pending] of this.#pending) {
      if (pending.namespace.name === namespace) this.#discardResult(id, pending);
    }
    for (const entries of [this.#entries, this.#emptyEntries]) {
      if (entries === undefined) continue;
      let seen = 0;
      for (const [id, stored] of [...entries.entries()]) {
        if (++seen % entriesPerTurn === 0) await new Promise(setImmediate);
        if (stored.namespace.name !== namespace) continue;
        const isChanged = fingerprints === undefined || stored.entry.fingerprints?.some((one) => fingerprints.has(one));
        if (isChanged && entries.peek(id) === stored && entries.delete(id)) this.counts.invalidated++;
      }
    }
  }

  clear(): void {
    this.counts.invalidated += this.size;
    for (const [id, pending] of this.#pending) this.#discardResult(id, pending);
    this.#entries?.clear();
    this.#emptyEntries?.clear();
  }

  #markHot(stored: StoredEntry, nowMs: number): void {
    const { namespace, key, loadedAtMs } = stored;
    stored.hotUntilMs = Math.min(loadedAtMs + namespace.freshMs, nowMs + hotMs);
    let entries = this.#hot.get(namespace);
    if (entries === undefined) {
      entries = new Map();
      this.#hot.set(namespace, entries);
    }
    entries.set(key, stored);
  }

  /** Later requests start a new load instead of joining this one. */
  #discardResult(id: string, pending: PendingLoad): void {
    pending.isInvalidated = true;
    this.#pending.delete(id);
  }

  /** While the store is unreachable, cached responses are served with their age, up to a limit. */
  #getUnverified(stored: StoredEntry, id: string, nowMs: number) {
    const { namespace, key, response } = stored;
    // A missing object may exist by now, and a 404 cannot carry its age.
    const isExpired = response === undefined && nowMs - stored.loadedAtMs >= namespace.freshMs;
    if (isExpired || this.#ageMs(stored, nowMs) > namespace.staleIfErrorMs)
      return this.#load(namespace, key, id, undefined);
    this.counts.stale++;
    return this.#staleResponse(stored, nowMs, "unverified");
  }

  /**
   * Time since the entry was last known to be current: at its load, or at the last poll for
   * changes.
   */
  #ageMs({ namespace, loadedAtMs }: StoredEntry, nowMs: number): number {
    const sinceLoadMs = nowMs - loadedAtMs;
    return namespace.isInvalidated ? Math.min(sinceLoadMs, this.#unverifiedMs(nowMs)) : sinceLoadMs;
  }

  #staleResponse(stored: StoredEntry, nowMs: number, detail: string): PreparedResponse | undefined {
    const { response } = stored;
    if (response === undefined) return undefined;
    const ageMs = this.#ageMs(stored, nowMs);
    const age = ageMs > 0 ? { Age: `${Math.floor(ageMs / 1000)}` } : undefined;
    return new PreparedResponse(response.body, `pds; hit; detail=${detail}`, age);
  }

  #load(
    namespace: CacheNamespace,
    key: string,
    id: string,
    stale: StoredEntry | undefined,
  ): MaybePromise<PreparedResponse | undefined> {
    const pending = this.#pending.get(id);
    if (pending !== undefined) {
      this.counts.collapsed++;
      return pending.result;
    }
    this.counts.misses++;
    const load: PendingLoad = { namespace, stale, result: noResult, isInvalidated: false };
    const entry = attempt(() => namespace.load(key));
    if (!(entry instanceof Promise)) return this.#finish(load, key, id, entry);
    this.#pending.set(id, load);
    load.result = this.#wait(load, key, id, entry);
    return load.result;
  }

  #revalidate(stored: StoredEntry, id: string): void {
    const result = this.#load(stored.namespace, stored.key, id, stored);
    if (result instanceof Promise) result.catch(() => {});
  }

  #finish(load: PendingLoad, key: string, id: string, entry: CacheEntry): PreparedResponse | undefined {
    if (!load.isInvalidated) this.#store(load, key, id, entry);
    const suffix = load.isInvalidated ? "" : "; stored";
    const forward =
      this.#entries === undefined ? "fwd=bypass" : `fwd=${load.stale === undefined ? "miss" : "stale"}${suffix}`;
    return entry.body && new PreparedResponse(entry.body, `pds; ${forward}`);
  }

  async #wait(
    load: PendingLoad,
    key: string,
    id: string,
    entry: Promise<CacheEntry>,
  ): Promise<PreparedResponse | undefined> {
    const { namespace, stale } = load;
    try {
      return this.#finish(load, key, id, await entry);
    } catch (error) {
      this.counts.failed++;
      if (stale === undefined) throw error;
      const nowMs = performance.now();
      const overdueMs = nowMs - stale.loadedAtMs - namespace.freshMs - namespace.staleWhileRevalidateMs;
      if (overdueMs > namespace.staleIfErrorMs) throw error;
      stale.retryAtMs = nowMs + retryDelayMs;
      return this.#staleResponse(stale, nowMs, "stale-if-error");
    } finally {
      if (this.#pending.get(id) === load) this.#pending.delete(id);
    }
  }

  #store({ namespace, stale }: PendingLoad, key: string, id: string, entry: CacheEntry): void {
    const nowMs = performance.now();
    const loadedAtMs = entry.isEmpty ? nowMs - Math.max(0, namespace.freshMs - emptyFreshMs) : nowMs;
    // An unchanged response keeps its compressed forms.
    if (stale !== undefined && entry.body !== undefined && stale.response?.body.etag === entry.body.etag) {
      stale.loadedAtMs = loadedAtMs;
      return;
    }
    const response = entry.body && new PreparedResponse(entry.body, "pds; hit");
    const [to, from] = entry.isEmpty ? [this.#emptyEntries, this.#entries] : [this.#entries, this.#emptyEntries];
    from?.delete(id);
    to?.set(id, { namespace, key, entry, response, loadedAtMs, retryAtMs: 0, hotUntilMs: 0 });
  }
}
