import { ServiceError } from "../base/errors.ts";
import { attempt, type MaybePromise } from "../base/maybe-promise.ts";
import type { SizeListener } from "./encoded-body.ts";
import { EntryTable, TableEntry } from "./entry-table.ts";
import type { CacheEntry, CacheNamespace } from "./namespace.ts";
import { PreparedResponse, type ResponseBody, verifiedForMs } from "./response.ts";

class StoredEntry extends TableEntry implements SizeListener {
  readonly isEmpty: boolean;
  readonly body: ResponseBody | undefined;
  readonly fingerprints: readonly number[] | undefined;
  /** When it was loaded, or reloaded without a difference. */
  loadedAtMs: number;
  retryAtMs = 0;
  readonly #table: EntryTable<StoredEntry>;

  constructor(table: EntryTable<StoredEntry>, { body, isEmpty, fingerprints }: CacheEntry, loadedAtMs: number) {
    super();
    this.#table = table;
    this.isEmpty = isEmpty;
    this.body = body;
    this.fingerprints = fingerprints;
    this.loadedAtMs = loadedAtMs;
    if (body !== undefined) body.sizeListener = this;
  }

  resized(): void {
    this.#table.resize(this);
  }
}

interface PendingLoad {
  readonly namespace: CacheNamespace;
  readonly stale: StoredEntry | undefined;
  result: Promise<PreparedResponse | undefined>;
  /** The data may be this old: the store may have read it then, and responded much later. */
  readonly asOfMs: number;
  /** Whether the data changed during the load, so that the result must not be stored. */
  isInvalidated: boolean;
}

/** Other memory of an entry, as measured: entity tag, objects, and the allocator's rounding. */
const bytesPerEntry = 1200;
/** Enough for 10,000 empty results with short names. Clients can invent names of up to 16 kB. */
const maxEmptyBytes = 12_000_000;
/** How long an empty result is served, and the pause after a failed load. */
const emptyFreshMs = 10_000;
const retryDelayMs = 1000;
/** Invalidation yields to the event loop after this many entries. */
const entriesPerTurn = 5000;
/** The most recently invalidated keys that are remembered per namespace. */
const maxInvalidatedKeys = 10;

const noResult = Promise.resolve(undefined);

export class ResponseCache {
  readonly counts = { hits: 0, stale: 0, misses: 0, collapsed: 0, failed: 0, evicted: 0, invalidated: 0 };
  readonly #entries: EntryTable<StoredEntry>;
  readonly #emptyEntries: EntryTable<StoredEntry>;
  readonly #pending = new Map<string, PendingLoad>();
  readonly #invalidatedKeys = new Map<string, string[]>();
  readonly #verifiedAtMs: (nowMs: number) => number;
  readonly maxBytes: number;

  /**
   * @param maxBytes 0 disables caching
   * @param verifiedAtMs when entries were last verified: all earlier changes have been applied
   */
  constructor(maxBytes: number, verifiedAtMs: (nowMs: number) => number) {
    this.#verifiedAtMs = verifiedAtMs;
    this.maxBytes = maxBytes;
    this.#entries = new EntryTable(maxBytes, sizeOf, this.counts);
    this.#emptyEntries = new EntryTable(maxBytes === 0 ? 0 : maxEmptyBytes, sizeOf);
  }

  get bytes(): number {
    return this.#entries.size;
  }

  get size(): number {
    return this.#entries.count + this.#emptyEntries.count;
  }

  /** Whether any response is cached, except those of missing objects. */
  get hasResponses(): boolean {
    return this.#entries.count > 0;
  }

  /**
   * The response for a key, without a promise if it is cached or loaded synchronously.
   * @returns undefined when the object does not exist
   * @param origin the request, for the namespace's `load`
   * @throws the load's error when no cached response can be served instead; `not_found` with an age
   *   for a missing object that cannot be verified
   */
  get(
    namespace: CacheNamespace,
    key: string,
    nowMs = performance.now(),
    origin?: unknown,
  ): MaybePromise<PreparedResponse | undefined> {
    const stored = this.#entries.get(namespace.name, key) ?? this.#emptyEntries.get(namespace.name, key);
    if (stored === undefined) return this.#load(namespace, key, undefined, origin);
    if (nowMs - this.#verifiedAtMs(nowMs) > verifiedForMs)
      return this.#getUnverified(namespace, key, stored, nowMs, origin);
    const sinceLoadMs = nowMs - stored.loadedAtMs;
    if (sinceLoadMs < namespace.freshMs) {
      this.counts.hits++;
      return this.#prepare(namespace, stored, nowMs, "pds; hit");
    }
    if (stored.isEmpty) return this.#load(namespace, key, undefined, origin);
    if (sinceLoadMs > namespace.freshMs + namespace.staleWhileRevalidateMs) {
      return this.#load(namespace, key, stored, origin);
    }
    if (nowMs >= stored.retryAtMs && !this.#pending.has(toId(namespace.name, key))) {
      this.#revalidate(namespace, key, stored, origin);
    }
    // No change was recorded, so this is as good as any other hit.
    this.counts.hits++;
    return this.#prepare(namespace, stored, nowMs, "pds; hit");
  }

  invalidate(namespace: string, key: string): void {
    const id = toId(namespace, key);
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.#discardResult(id, pending);
    if (this.#entries.delete(namespace, key) || this.#emptyEntries.delete(namespace, key)) this.counts.invalidated++;
  }

  /** @param fingerprints of the changed data; undefined removes the whole namespace */
  async invalidateMatching(namespace: string, fingerprints: ReadonlySet<number> | undefined): Promise<void> {
    for (const [id, pending] of this.#pending) {
      if (pending.namespace.name === namespace) this.#discardResult(id, pending);
    }
    for (const table of [this.#entries, this.#emptyEntries]) {
      let seen = 0;
      for (const stored of table.list(namespace)) {
        if (++seen % entriesPerTurn === 0) await new Promise(setImmediate);
        const isChanged = fingerprints === undefined || stored.fingerprints?.some((one) => fingerprints.has(one));
        if (isChanged && table.remove(stored)) {
          this.counts.invalidated++;
          this.#noteInvalidated(namespace, stored.key);
        }
      }
    }
  }

  /** A sample of the keys that {@link invalidateMatching} removed last, to check them elsewhere. */
  takeInvalidated(namespace: string): readonly string[] {
    const keys = this.#invalidatedKeys.get(namespace) ?? [];
    this.#invalidatedKeys.delete(namespace);
    return keys;
  }

  #noteInvalidated(namespace: string, key: string): void {
    const keys = this.#invalidatedKeys.get(namespace) ?? [];
    if (keys.length >= maxInvalidatedKeys) keys.shift();
    this.#invalidatedKeys.set(namespace, [...keys, key]);
  }

  clear(): void {
    this.counts.invalidated += this.size;
    for (const [id, pending] of this.#pending) this.#discardResult(id, pending);
    this.#entries.clear();
    this.#emptyEntries.clear();
  }

  /** Later requests start a new load instead of joining this one. */
  #discardResult(id: string, pending: PendingLoad): void {
    pending.isInvalidated = true;
    this.#pending.delete(id);
  }

  /** While the store is unreachable, cached responses are served with their age, up to a limit. */
  #getUnverified(namespace: CacheNamespace, key: string, stored: StoredEntry, nowMs: number, origin: unknown) {
    // A missing object may exist by now.
    const isExpired = stored.body === undefined && nowMs - stored.loadedAtMs >= namespace.freshMs;
    const ageMs = nowMs - this.#asOfMs(namespace, stored.loadedAtMs, nowMs);
    if (isExpired || ageMs > namespace.staleIfErrorMs) return this.#load(namespace, key, undefined, origin);
    this.counts.stale++;
    return this.#staleResponse(namespace, stored, nowMs, "unverified");
  }

  /** When data was last known to be current: when it was loaded, or changes were last applied. */
  #asOfMs({ isInvalidated }: CacheNamespace, loadedAtMs: number, nowMs: number): number {
    return isInvalidated ? Math.max(loadedAtMs, this.#verifiedAtMs(nowMs)) : loadedAtMs;
  }

  #prepare(namespace: CacheNamespace, { body, loadedAtMs }: StoredEntry, nowMs: number, cacheStatus: string) {
    const asOfMs = this.#asOfMs(namespace, loadedAtMs, nowMs);
    return body && new PreparedResponse(body, { cacheStatus, asOfMs });
  }

  #staleResponse(namespace: CacheNamespace, stored: StoredEntry, nowMs: number, detail: string): PreparedResponse {
    const prepared = this.#prepare(namespace, stored, nowMs, `pds; hit; detail=${detail}`);
    return prepared ?? failMissing(nowMs - this.#asOfMs(namespace, stored.loadedAtMs, nowMs));
  }

  #load(
    namespace: CacheNamespace,
    key: string,
    stale: StoredEntry | undefined,
    origin: unknown,
  ): MaybePromise<PreparedResponse | undefined> {
    const id = toId(namespace.name, key);
    const pending = this.#pending.get(id);
    if (pending !== undefined) {
      this.counts.collapsed++;
      return pending.result;
    }
    this.counts.misses++;
    const load: PendingLoad = { namespace, stale, result: noResult, asOfMs: performance.now(), isInvalidated: false };
    const entry = attempt(() => namespace.load(key, origin));
    if (!(entry instanceof Promise)) return this.#finish(load, key, entry);
    this.#pending.set(id, load);
    load.result = this.#wait(load, key, id, entry);
    return load.result;
  }

  #revalidate(namespace: CacheNamespace, key: string, stored: StoredEntry, origin: unknown): void {
    const result = this.#load(namespace, key, stored, origin);
    if (result instanceof Promise) result.catch(() => {});
  }

  #finish(load: PendingLoad, key: string, entry: CacheEntry): PreparedResponse | undefined {
    if (!load.isInvalidated) this.#store(load, key, entry);
    const suffix = load.isInvalidated ? "" : "; stored";
    const forward = this.maxBytes === 0 ? "fwd=bypass" : `fwd=${load.stale === undefined ? "miss" : "stale"}${suffix}`;
    // Changes during the load would have invalidated it. Later requests share the response.
    const { isInvalidated } = load;
    const nowMs = performance.now();
    const asOfMs = isInvalidated ? load.asOfMs : this.#asOfMs(load.namespace, load.asOfMs, nowMs);
    if (entry.body === undefined) return nowMs - asOfMs < verifiedForMs ? undefined : failMissing(nowMs - asOfMs);
    return new PreparedResponse(entry.body, {
      cacheStatus: `pds; ${forward}`,
      asOfMs,
      isOutdated: isInvalidated,
      isRead: true,
    });
  }

  async #wait(
    load: PendingLoad,
    key: string,
    id: string,
    entry: Promise<CacheEntry>,
  ): Promise<PreparedResponse | undefined> {
    const { namespace, stale } = load;
    let loaded: CacheEntry;
    try {
      loaded = await entry;
    } catch (error) {
      this.counts.failed++;
      if (stale === undefined) throw error;
      const nowMs = performance.now();
      const overdueMs = nowMs - stale.loadedAtMs - namespace.freshMs - namespace.staleWhileRevalidateMs;
      if (overdueMs > namespace.staleIfErrorMs) throw error;
      stale.retryAtMs = nowMs + retryDelayMs;
      return this.#staleResponse(namespace, stale, nowMs, "stale-if-error");
    } finally {
      if (this.#pending.get(id) === load) this.#pending.delete(id);
    }
    return this.#finish(load, key, loaded);
  }

  #store({ namespace, stale, asOfMs }: PendingLoad, key: string, entry: CacheEntry): void {
    const loadedAtMs = entry.isEmpty ? asOfMs - Math.max(0, namespace.freshMs - emptyFreshMs) : asOfMs;
    // An unchanged response keeps its compressed forms.
    if (stale !== undefined && entry.body !== undefined && stale.body?.etag === entry.body.etag) {
      stale.loadedAtMs = loadedAtMs;
      return;
    }
    const [to, from] = entry.isEmpty ? [this.#emptyEntries, this.#entries] : [this.#entries, this.#emptyEntries];
    from.delete(namespace.name, key);
    to.set(namespace.name, key, new StoredEntry(to, entry, loadedAtMs));
  }
}

function failMissing(ageMs: number): never {
  throw new ServiceError("not_found", "Not Found", { ageS: Math.floor(ageMs / 1000) });
}

const sizeOf = ({ key, body, fingerprints = [] }: StoredEntry) =>
  (body?.size ?? 0) + (body?.purgeTags?.value.length ?? 0) + fingerprints.length * 8 + key.length + bytesPerEntry;

const toId = (namespace: string, key: string) => `${namespace}/${key}`;
