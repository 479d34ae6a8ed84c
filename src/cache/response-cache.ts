import { LRUCache } from "lru-cache";
import type { CachePolicy } from "../model/cache-policy.ts";
import { Answer, type Content } from "./response.ts";

/** What a name stands for, as it was found. */
export interface CacheEntry {
  /** Undefined when there is nothing of that name. */
  readonly content: Content | undefined;
  /** Whether it says no more than that: of such ones few are kept, since anyone can make up names. */
  readonly isEmpty: boolean;
  /** Fingerprints of what it was made of. */
  readonly fingerprints?: readonly number[];
}

/** A kind of answers that are remembered by name. */
export interface CacheNamespace {
  readonly name: string;
  /** Whether its changes are recorded: then what is kept is current for as long as they can be looked for. */
  readonly isWatched: boolean;
  /** How long it is answered without asking; what is known to have changed is dropped before. */
  readonly freshMs: number;
  /** For how long after that the old one is still answered, while the new one is found. */
  readonly staleWhileRevalidateMs: number;
  /** For how long after that it is answered when the new one cannot be found. */
  readonly staleIfErrorMs: number;
  /** @throws when it cannot be found out */
  readonly find: (name: string) => Promise<CacheEntry>;
}

/** What is dropped when it changes need be asked for only now and then, in case a change was not recorded. */
const freshMs = 5 * 60_000;

/** How long an answer lives whose changes are recorded; at most `maxAgeS` seconds pass before it is asked for again. */
export function lifetimeOf({ staleIfErrorS }: CachePolicy, maxAgeS = Number.POSITIVE_INFINITY) {
  const staleIfErrorMs = staleIfErrorS * 1000;
  return {
    isWatched: true,
    freshMs: Math.min(freshMs, maxAgeS * 1000),
    staleWhileRevalidateMs: Math.max(freshMs, staleIfErrorMs),
    staleIfErrorMs,
  };
}

interface Entry {
  readonly kind: CacheNamespace;
  readonly name: string;
  readonly finding: CacheEntry;
  readonly hit: Answer | undefined;
  /** When it was found, or found to be the same still. */
  foundAtMs: number;
  /** Not before this is it asked for again. */
  askAgainMs: number;
  /** Until then it is answered without another look. */
  lookedAtUntilMs: number;
}

interface Search {
  readonly kind: CacheNamespace;
  readonly old: Entry | undefined;
  result: Promise<Answer | undefined>;
  /** Whether what it found must not be kept: it may have been read before a change. */
  isOutdated: boolean;
}

/** Counts since the start. */
export interface CacheCounts {
  hits: number;
  stale: number;
  misses: number;
  collapsed: number;
  failed: number;
  evicted: number;
  dropped: number;
}

/** What an entry takes besides its body: names, headers and the table itself. */
const bytesPerEntry = 2048;
const mostEmpty = 10_000;
/** How long it is remembered that there is nothing, or that it could not be found out. */
const emptyMs = 10_000;
const failedMs = 1000;
/** Entries that are looked at in one go when something has changed: others want their turn too. */
const entriesPerTurn = 5000;

/** How long what was just looked at is answered without telling the table of all answers that it was asked for: that would take as long as all else. */
const lookMs = 1000;

const noResult = Promise.resolve(undefined);

/** Keeps finished answers, and has each found only once at a time. */
export class ResponseCache {
  readonly counts: CacheCounts = { hits: 0, stale: 0, misses: 0, collapsed: 0, failed: 0, evicted: 0, dropped: 0 };
  readonly #full: LRUCache<string, Entry> | undefined;
  readonly #empty: LRUCache<string, Entry> | undefined;
  /** What has been looked at, by kind and name. */
  readonly #lookedAt = new Map<CacheNamespace, Map<string, Entry>>();
  readonly #searches = new Map<string, Search>();
  readonly #unverifiedMs: (nowMs: number) => number;
  readonly budget: number;

  /**
   * @param budget bytes that it may take; 0 keeps nothing
   * @param unverifiedMs for how long nobody could tell whether something has changed
   */
  constructor(budget: number, unverifiedMs: (nowMs: number) => number) {
    this.#unverifiedMs = unverifiedMs;
    this.budget = budget;
    if (budget === 0) return;
    this.#full = new LRUCache({
      maxSize: budget,
      sizeCalculation: ({ finding }) => (finding.content?.size ?? 0) + bytesPerEntry,
      dispose: (entry, _key, reason) => {
        this.#lookedAt.get(entry.kind)?.delete(entry.name);
        if (reason === "evict") this.counts.evicted++;
      },
    });
    this.#empty = new LRUCache({ max: mostEmpty });
  }

  get bytes(): number {
    return this.#full?.calculatedSize ?? 0;
  }

  get entries(): number {
    return (this.#full?.size ?? 0) + (this.#empty?.size ?? 0);
  }

  /**
   * The answer of a name: at once when it is there.
   * @returns undefined when there is nothing of that name
   * @param nowMs by `performance.now()`
   * @throws what finding it throws, when nothing is kept that may be answered instead
   */
  answer(
    kind: CacheNamespace,
    name: string,
    nowMs = performance.now(),
  ): Answer | undefined | Promise<Answer | undefined> {
    const unverifiedMs = this.#unverifiedMs(nowMs);
    const lookedAt = this.#lookedAt.get(kind)?.get(name);
    if (lookedAt !== undefined && nowMs < lookedAt.lookedAtUntilMs && unverifiedMs === 0) {
      this.counts.hits++;
      return lookedAt.hit;
    }
    const key = `${kind.name}/${name}`;
    const entry = this.#full?.get(key) ?? this.#empty?.get(key);
    if (entry === undefined) return this.#search(kind, name, key, undefined);
    if (unverifiedMs > 0) return this.#answerUnverified(entry, key, name, nowMs);
    const sinceFoundMs = nowMs - entry.foundAtMs;
    if (sinceFoundMs < kind.freshMs) {
      this.counts.hits++;
      if (!entry.finding.isEmpty) this.#lookAt(entry, nowMs);
      return entry.hit;
    }
    if (entry.finding.isEmpty) return this.#search(kind, name, key, undefined);
    if (sinceFoundMs > kind.freshMs + kind.staleWhileRevalidateMs) return this.#search(kind, name, key, entry);
    if (nowMs >= entry.askAgainMs && !this.#searches.has(key)) this.#search(kind, name, key, entry).catch(() => {});
    // No change of it has been recorded, so it is as good as any other hit.
    this.counts.hits++;
    return entry.hit;
  }

  /** Forgets one name, of which something has changed. */
  drop(kind: string, name: string): void {
    const key = `${kind}/${name}`;
    const search = this.#searches.get(key);
    if (search !== undefined) this.#outdate(key, search);
    if (this.#full?.delete(key) || this.#empty?.delete(key)) this.counts.dropped++;
  }

  /**
   * Forgets what was made of something that has changed.
   * @param fingerprints of what has changed; undefined for all of the kind
   */
  async dropChanged(kind: string, fingerprints: ReadonlySet<number> | undefined): Promise<void> {
    for (const [key, search] of this.#searches) if (search.kind.name === kind) this.#outdate(key, search);
    for (const entries of [this.#full, this.#empty]) {
      if (entries === undefined) continue;
      let seen = 0;
      for (const [key, entry] of [...entries.entries()]) {
        if (++seen % entriesPerTurn === 0) await new Promise(setImmediate);
        if (entry.kind.name !== kind) continue;
        const isChanged =
          fingerprints === undefined || entry.finding.fingerprints?.some((one) => fingerprints.has(one));
        if (isChanged && entries.peek(key) === entry && entries.delete(key)) this.counts.dropped++;
      }
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.counts.dropped += this.entries;
    for (const [key, search] of this.#searches) this.#outdate(key, search);
    this.#full?.clear();
    this.#empty?.clear();
  }

  #lookAt(entry: Entry, nowMs: number): void {
    const { kind, name, foundAtMs } = entry;
    entry.lookedAtUntilMs = Math.min(foundAtMs + kind.freshMs, nowMs + lookMs);
    let names = this.#lookedAt.get(kind);
    if (names === undefined) {
      names = new Map();
      this.#lookedAt.set(kind, names);
    }
    names.set(name, entry);
  }

  #outdate(key: string, search: Search): void {
    search.isOutdated = true;
    // Whoever comes from now on must not get what it finds.
    this.#searches.delete(key);
  }

  /** What is kept is all there is while the store is lost: its age is told, and beyond a limit it is no answer any more. */
  #answerUnverified(entry: Entry, key: string, name: string, nowMs: number) {
    const { kind } = entry;
    if (this.#ageMs(entry, nowMs) > kind.staleIfErrorMs) return this.#search(kind, name, key, undefined);
    this.counts.stale++;
    return this.#old(entry, nowMs, "unverified");
  }

  /** How long ago it was last known to be current: when it was found, or when no change of it had been recorded. */
  #ageMs({ kind, foundAtMs }: Entry, nowMs: number): number {
    const sinceFoundMs = nowMs - foundAtMs;
    return kind.isWatched ? Math.min(sinceFoundMs, this.#unverifiedMs(nowMs)) : sinceFoundMs;
  }

  #old(entry: Entry, nowMs: number, detail: string): Answer | undefined {
    const { hit } = entry;
    if (hit === undefined) return undefined;
    const ageMs = this.#ageMs(entry, nowMs);
    const age = ageMs > 0 && { Age: `${Math.floor(ageMs / 1000)}` };
    return new Answer(hit.content, { ...age, "Cache-Status": `pds; hit; detail=${detail}` });
  }

  #search(kind: CacheNamespace, name: string, key: string, old: Entry | undefined): Promise<Answer | undefined> {
    const underWay = this.#searches.get(key);
    if (underWay !== undefined) {
      this.counts.collapsed++;
      return underWay.result;
    }
    this.counts.misses++;
    const search: Search = { kind, old, result: noResult, isOutdated: false };
    this.#searches.set(key, search);
    search.result = this.#find(search, name, key);
    return search.result;
  }

  async #find(search: Search, name: string, key: string): Promise<Answer | undefined> {
    const { kind, old } = search;
    try {
      const finding = await kind.find(name);
      if (!search.isOutdated) this.#keep(search, name, key, finding);
      const stored = search.isOutdated ? "" : "; stored";
      const forward = this.#full === undefined ? "fwd=bypass" : `fwd=${old === undefined ? "miss" : "stale"}${stored}`;
      return finding.content && new Answer(finding.content, { "Cache-Status": `pds; ${forward}` });
    } catch (error) {
      this.counts.failed++;
      if (old === undefined) throw error;
      const nowMs = performance.now();
      const overdueMs = nowMs - old.foundAtMs - kind.freshMs - kind.staleWhileRevalidateMs;
      if (overdueMs > kind.staleIfErrorMs) throw error;
      old.askAgainMs = nowMs + failedMs;
      return this.#old(old, nowMs, "stale-if-error");
    } finally {
      if (this.#searches.get(key) === search) this.#searches.delete(key);
    }
  }

  #keep({ kind, old }: Search, name: string, key: string, finding: CacheEntry): void {
    const nowMs = performance.now();
    const foundAtMs = finding.isEmpty ? nowMs - Math.max(0, kind.freshMs - emptyMs) : nowMs;
    // The same as before: what was made of it is kept too.
    if (old !== undefined && finding.content !== undefined && old.hit?.content.etag === finding.content.etag) {
      old.foundAtMs = foundAtMs;
      return;
    }
    const hit = finding.content && new Answer(finding.content);
    const [to, from] = finding.isEmpty ? [this.#empty, this.#full] : [this.#full, this.#empty];
    from?.delete(key);
    to?.set(key, { kind, name, finding, hit, foundAtMs, askAgainMs: 0, lookedAtUntilMs: 0 });
  }
}
