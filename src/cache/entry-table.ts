/** What an {@link EntryTable} needs to know of an entry. */
export interface TableEntry {
  /** 0 while it is in no table. */
  size: number;
  wasUsed: boolean;
}

interface Candidate<Entry> {
  readonly namespace: string;
  readonly key: string;
  readonly entry: Entry;
}

/**
 * Entries by namespace and key, of limited total size. To make room, a hand goes around all entries:
 * it spares those that were used since it last passed, and evicts the others (SIEVE). So a hit only
 * sets a flag, and entries that are requested once leave first.
 */
export class EntryTable<Entry extends TableEntry> {
  readonly #maxSize: number;
  readonly #sizeOf: (entry: Entry) => number;
  readonly #counts: { evicted: number };
  readonly #namespaces = new Map<string, Map<string, Entry>>();
  readonly #hand = this.#goAround();
  #candidate: Candidate<Entry> | undefined;
  #size = 0;

  constructor(maxSize: number, sizeOf: (entry: Entry) => number, counts = { evicted: 0 }) {
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
    this.#counts = counts;
  }

  /** Of all entries. */
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
  list(namespace: string): [key: string, entry: Entry][] {
    return [...(this.#namespaces.get(namespace) ?? [])];
  }

  has(namespace: string, key: string, entry: Entry): boolean {
    return this.#namespaces.get(namespace)?.get(key) === entry;
  }

  /** Replaces the entry of a key. An entry that is larger than the whole table is not kept. */
  set(namespace: string, key: string, entry: Entry): void {
    this.delete(namespace, key);
    const size = this.#sizeOf(entry);
    if (size > this.#maxSize) return;
    this.#makeRoom(size);
    entry.size = size;
    this.#size += size;
    let entries = this.#namespaces.get(namespace);
    if (entries === undefined) {
      entries = new Map();
      this.#namespaces.set(namespace, entries);
    }
    entries.set(key, entry);
  }

  /** Measures an entry again; without effect if the table does not have it any more. */
  resize(entry: Entry): void {
    if (entry.size === 0) return;
    const size = this.#sizeOf(entry);
    this.#size += size - entry.size;
    entry.size = size;
    this.#makeRoom(0);
  }

  delete(namespace: string, key: string): boolean {
    const entries = this.#namespaces.get(namespace);
    const entry = entries?.get(key);
    if (entries === undefined || entry === undefined) return false;
    this.#size -= entry.size;
    entry.size = 0;
    return entries.delete(key);
  }

  clear(): void {
    for (const [namespace, entries] of this.#namespaces) for (const key of entries.keys()) this.delete(namespace, key);
  }

  #makeRoom(size: number): void {
    while (this.#size + size > this.#maxSize) {
      const candidate = this.#candidate;
      // Already now, so that the hand does not follow entries that are added next.
      this.#candidate = this.#hand.next().value;
      if (candidate === undefined) continue;
      const { namespace, key, entry } = candidate;
      if (entry.wasUsed) entry.wasUsed = false;
      else if (this.has(namespace, key, entry)) {
        this.delete(namespace, key);
        this.#counts.evicted++;
      }
    }
  }

  /** Goes around all entries, oldest first. @yields undefined after each round */
  *#goAround(): Generator<Candidate<Entry> | undefined, never> {
    while (true) {
      for (const [namespace, entries] of this.#namespaces) {
        for (const [key, entry] of entries) yield { namespace, key, entry };
      }
      yield undefined;
    }
  }
}
