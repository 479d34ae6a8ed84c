import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LRUCache } from "lru-cache";
import { createSequence } from "../../bench/support/sequence.ts";
import { EntryTable, TableEntry } from "../../src/cache/entry-table.ts";

class Entry extends TableEntry {
  bytes: number;

  constructor(bytes: number) {
    super();
    this.bytes = bytes;
  }
}

const createEntry = (bytes = 1) => new Entry(bytes);
const createTable = (maxSize: number, counts?: { evicted: number }) =>
  new EntryTable<Entry>(maxSize, ({ bytes }) => bytes, counts);

describe("a table of entries", () => {
  test("counts exactly what it has, and never exceeds its maximum", () => {
    const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
    const namespace = fc.constantFrom("one", "other");
    const operation = fc.record({
      name: fc.constantFrom("get", "set", "set", "delete", "resize", "clear"),
      namespace,
      key,
      bytes: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const table = createTable(20);
        for (const { name, namespace: of, key: at, bytes } of operations) {
          const entry = table.get(of, at);
          if (name === "set") table.set(of, at, createEntry(bytes));
          if (name === "delete") table.delete(of, at);
          if (name === "clear" && bytes > 10) table.clear();
          if (name === "resize" && entry !== undefined) {
            entry.bytes = bytes;
            table.resize(entry);
          }
          const entries = [...table.list("one"), ...table.list("other")];
          expect(table.count).toBe(entries.length);
          expect(table.size).toBe(entries.reduce((sum, { bytes: each }) => sum + each, 0));
          expect(table.size).toBeLessThanOrEqual(20);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("keeps nothing in memory that was removed, however long nothing is evicted", async () => {
    const table = createTable(1000);
    const fillWith = (count: number) => {
      for (let key = 0; key < count; key++) table.set("one", `${key}`, createEntry());
    };
    fillWith(1500);
    const removed: WeakRef<Entry>[] = [];
    for (let round = 0; round < 20; round++) {
      for (const entry of table.list("one")) {
        removed.push(new WeakRef(entry));
        table.remove(entry);
      }
      fillWith(500);
    }
    // References are strong until the end of the turn in which they were made.
    await Bun.sleep(0);
    Bun.gc(true);
    const kept = removed.filter((reference) => reference.deref() !== undefined).length;
    // The collector takes some words on the stack for references.
    expect(kept).toBeLessThan(removed.length / 10);
  });

  test("has more hits than a least-recently-used list when demand follows Zipf", () => {
    const [keys, kept, requests] = [20_000, 1000, 100_000];
    const table = createTable(kept);
    const list = new LRUCache<string, Entry>({ max: kept });
    const next = createSequence("zipf", keys, 5);
    let [hits, listHits] = [0, 0];
    for (let request = 0; request < requests; request++) {
      const key = `${next()}`;
      if (table.get("one", key) !== undefined) hits++;
      else table.set("one", key, createEntry());
      if (list.get(key) !== undefined) listHits++;
      else list.set(key, createEntry());
    }
    expect(hits).toBeGreaterThan(listHits * 1.02);
  });
});
