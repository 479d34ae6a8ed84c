export abstract class TableEntry {
  /** 0 while it is in no table. */
  size = 0;
  namespace = "";
  key = "";
  wasUsed = false;
  older: this | undefined = undefined;
  newer: this | undefined = undefined;
}

/**
 * Entries by namespace and key, with a limited total size. A hand goes around all entries: it
 * spares those that were used since its last pass, and evicts the others (SIEVE). So a hit only
 * sets a flag, and entries that are requested once leave first.
 */
export class EntryTable<Entry extends TableEntry> {
  readonly #maxSize: number;
  readonly #sizeOf: (entry: Entry) => number;
  readonly #counts: { evicted: number };
  readonly #namespaces = new Map<string, Map<string, Entry>>();
  #oldest: Entry | undefined;
  #newest: Entry | undefined;
  /**
   * The next candidate for eviction; undefined for the oldest. A map's iterator would retain every
   * entry that is deleted while the iterator rests.
   */
  #hand: Entry | undefined;
  #size = 0;

  constructor(maxSize: number, sizeOf: (entry: Entry) => number, counts = { evicted: 0 }) {
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
    this.#counts = counts;
  }

  get size(): number {
    return this.#size;
  }

  get count(): number {
    let count = 0;
    for (const entries of this.#namespaces.values()) count += entries.size;
    return count;
  }

  get(namespace: string, key: string): Entry | undefined {
    const entry = this.#namespaces.get(namespace)?.get(key);
    if (entry !== undefined && !entry.wasUsed) entry.wasUsed = true;
    return entry;
  }

  /** A copy, because entries may change during a long loop. */
  list(namespace: string): Entry[] {
    return [...(this.#namespaces.get(namespace)?.values() ?? [])];
  }

  /** Replaces a key's entry. Ignores an entry that is larger than the whole table. */
  set(namespace: string, key: string, entry: Entry): void {
    this.delete(namespace, key);
    entry.namespace = namespace;
    entry.key = key;
    const size = this.#sizeOf(entry);
    if (size > this.#maxSize) return;
    this.#makeRoom(size);
    entry.size = size;
    this.#size += size;
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.#namespaces.getOrInsertComputed(namespace, () => new Map()).set(key, entry);
  }

  /** Measures an entry again; does nothing if the table no longer has it. */
  resize(entry: Entry): void {
    if (entry.size === 0) return;
    const size = this.#sizeOf(entry);
    this.#size += size - entry.size;
    entry.size = size;
    this.#makeRoom(0);
  }

  delete(namespace: string, key: string): boolean {
    const entry = this.#namespaces.get(namespace)?.get(key);
    return entry !== undefined && this.remove(entry);
  }

  /** @returns false if the table no longer has the entry */
  remove(entry: Entry): boolean {
    if (entry.size === 0) return false;
    this.#size -= entry.size;
    entry.size = 0;
    const { older, newer } = entry;
    if (this.#hand === entry) this.#hand = newer;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    // Otherwise, a response that is still being sent would retain its neighbors.
    entry.older = undefined;
    entry.newer = undefined;
    return this.#namespaces.get(entry.namespace)?.delete(entry.key) === true;
  }

  clear(): void {
    while (this.#oldest !== undefined) this.remove(this.#oldest);
  }

  #makeRoom(size: number): void {
    while (this.#size + size > this.#maxSize) {
      const candidate = this.#hand ?? this.#oldest;
      if (candidate === undefined) return;
      // Past the newest entry, the hand must start again at the oldest, not go on to entries that are added later.
      this.#hand = candidate.newer;
      if (candidate.wasUsed) candidate.wasUsed = false;
      else {
        this.remove(candidate);
        this.#counts.evicted++;
      }
    }
  }
}
