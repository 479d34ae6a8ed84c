import { describe, expect, mock, test } from "bun:test";
import fc from "fast-check";
import { OrderedComparison } from "../../src/personalization/difference.ts";
import { FragmentCache } from "../../src/personalization/fragment-cache.ts";
import type { Walked } from "../../src/personalization/generation-walk.ts";
import { GarbageCollector } from "../../src/personalization/import/garbage.ts";
import { RowSorter } from "../../src/personalization/import/row-sorter.ts";
import { UsageCounter } from "../../src/personalization/import/usage.ts";
import { NameTable } from "../../src/personalization/name-table.ts";
import { LineCursor } from "../../src/personalization/packed-lines.ts";

const text = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.string({ minLength: 60, maxLength: 90 }),
);
/** Few letters, so that many keys are equal or begin alike. */
const key = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "é", "\u{1f600}"), minLength: 1, maxLength: 5 }),
  text,
);
const encode = (value: string) => new Uint8Array(Buffer.from(value));
const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

describe("the row sorter", () => {
  test("groups by key in the order of the bytes, in memory and through files", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(key, fc.nat(255)), { maxLength: 200 }),
        fc.boolean(),
        async (rows, isSmall) => {
          await using sorter = new RowSorter(isSmall ? 1200 : 100_000);
          for (const [name, value] of rows) {
            const offset = sorter.reserve(name, 1);
            sorter.bytes[offset] = value;
            sorter.commit(offset + 1);
          }
          const names = [...new Set(rows.map(([name]) => name))].toSorted(byBytes);
          const expected = names.map((name) => [
            name,
            rows.filter(([other]) => other === name).map(([, value]) => value),
          ]);
          for (let reading = 0; reading < 2; reading++) {
            const groups = Array.from(sorter.groups(), ({ key, content }) => [
              Buffer.from(key).toString(),
              [...content],
            ]);
            expect(groups).toEqual(expected);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("makes room for a row that takes more memory than it has", async () => {
    await using sorter = new RowSorter(100);
    const contents = { a: 10, b: 1000, c: 10 };
    for (const [name, size] of Object.entries(contents)) {
      const offset = sorter.reserve(name, size);
      expect(offset).toBePositive();
      sorter.bytes.fill(1, offset, offset + size);
      sorter.commit(offset + size);
    }
    const sizes = Array.from(sorter.groups(), ({ key, content }) => [Buffer.from(key).toString(), content.length]);
    expect(Object.fromEntries(sizes)).toEqual(contents);
  });
});

test("a line that was cut off within a number is an error, not an endless loop", () => {
  const cursor = new LineCursor().reset(Uint8Array.of(1, 2, 65, 0x81));
  cursor.next();
  expect(cursor).toMatchObject({ style: 1, sequence: "1", status: "A" });
  expect(() => cursor.next()).toThrow("the packed lines are damaged");
});

describe("the table of names", () => {
  test("numbers names as a map would", () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 100 }), (names) => {
        const table = new NameTable();
        const model = new Map<string, number>();
        for (const name of names) {
          expect(table.findBytes(encode(name))).toBe(model.get(name) ?? 0);
          if (!model.has(name)) model.set(name, model.size + 1);
          expect(table.add(name)).toBe(model.get(name) ?? 0);
        }
        for (const [name, number] of model) {
          expect([table.nameOf(number), table.findBytes(encode(name))]).toEqual([name, number]);
        }
        expect(table.size).toBe(model.size);
        const dropped = Math.floor(model.size / 2);
        table.drop(dropped);
        for (const [name, number] of model) if (number > dropped) expect(table.nameOf(number)).toBe(name);
      }),
    );
  });

  test.each<[string, (index: number) => string]>([
    ["counted", (index) => `STYLE-${index}`],
    ["of few letters", (index) => index.toString(2).padStart(20, "0")],
    ["beyond ASCII", (index) => String.fromCharCode(0x4e00 + (index % 1000), 0x4e00 + Math.floor(index / 1000))],
  ])("tells many names apart that are %s", (_, nameOf) => {
    const table = new NameTable();
    for (let index = 0; index < 50_000; index++) expect(table.add(nameOf(index))).toBe(index + 1);
    for (let index = 0; index < 50_000; index += 97) expect(table.findBytes(encode(nameOf(index)))).toBe(index + 1);
    expect(table.findBytes(encode("another"))).toBe(0);
  });
});

test("users are counted, and the first are kept as examples, in memory and through files", async () => {
  for (const memoryBytes of [4096, 120]) {
    await using usage = new UsageCounter(3, memoryBytes);
    for (let user = 0; user < 5; user++) {
      usage.add(70_000, `b${user}`);
      usage.add(1, `é${user}`);
    }
    usage.add(2, "only");
    expect([1, 2, 3, 70_000, 80_000].map((number) => usage.countOf(number))).toEqual([5, 1, 0, 5, 0]);
    const examples = [1, 2, 3, 70_000, 80_000].map((number) => usage.takeExamplesOf(number));
    expect(examples).toEqual([["é0", "é1", "é2"], ["only"], [], ["b0", "b1", "b2"], []]);
  }
});

test("a comparison finds what was added, changed, and removed, whatever the pages", async () => {
  const entries = fc.dictionary(fc.string({ maxLength: 3 }), fc.nat(3), { maxKeys: 30 });
  const sorted = (of: Record<string, number>): Walked[] =>
    Object.keys(of)
      .toSorted(byBytes)
      .map((name) => ({ key: encode(name), content: Uint8Array.of(of[name] as number) }));
  async function* pagesOf(rows: Walked[], size: number) {
    for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
  }
  await fc.assert(
    fc.asyncProperty(entries, entries, fc.integer({ min: 1, max: 7 }), async (before, after, size) => {
      const found: string[] = [];
      const note = (kind: string) => (name: Uint8Array) => void found.push(`${kind} ${Buffer.from(name)}`);
      const visitor = { added: note("added"), changed: note("changed"), removed: note("removed") };
      const comparison = new OrderedComparison(pagesOf(sorted(before), size), visitor);
      for (const row of sorted(after)) while (!comparison.tryAdd(row.key, row.content)) await comparison.loadPage();
      await comparison.finish();
      const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted(byBytes);
      const expected = names.flatMap((name) => {
        if (!Object.hasOwn(before, name)) return [`added ${name}`];
        if (!Object.hasOwn(after, name)) return [`removed ${name}`];
        return before[name] === after[name] ? [] : [`changed ${name}`];
      });
      expect(found.toSorted()).toEqual(expected.toSorted());
      expect(comparison.added + comparison.changed + comparison.removed).toBe(expected.length);
    }),
  );
});

test("fragments that were used last are kept, and no more than fit", async () => {
  const cache = new FragmentCache<{ number: number; rows: Uint8Array }>(100_000);
  const loaded: number[] = [];
  const get = async (...numbers: number[]) => {
    const found = await cache.get(numbers, async (missing) => {
      loaded.push(...missing);
      return missing.map((number) => ({ number, rows: new Uint8Array(1000) }));
    });
    expect(found.map(({ number }) => number)).toEqual(numbers);
  };
  await get(7, 8, 7);
  expect(loaded).toEqual([7, 8]);
  for (let number = 100; number < 400; number++) await get(7, number);
  // 7 was used all the time; 8 and most others made room.
  expect(loaded.filter((number) => number === 7)).toEqual([7]);
  loaded.length = 0;
  await get(8, 100, 399);
  expect(loaded).toEqual([8, 100]);
});

test("a fragment that is larger than the cache is not kept", async () => {
  const cache = new FragmentCache<{ number: number; rows: Uint8Array }>(100_000);
  const load = mock(async () => [{ number: 1, rows: new Uint8Array(200_000) }]);
  for (let time = 0; time < 2; time++) expect((await cache.get([1], load)).length).toBe(1);
  expect(load).toHaveBeenCalledTimes(2);
});

test("pages that were read are collected before many accumulate", async () => {
  const pages: WeakRef<Uint8Array[]>[] = [];
  async function* read() {
    for (let page = 0; page < 64; page++) {
      const rows = [new Uint8Array(2 ** 18)];
      pages.push(new WeakRef(rows));
      yield rows;
      await Bun.sleep(0);
    }
  }
  let most = 0;
  for await (const _ of new GarbageCollector().countPages(read(), ({ length }) => length)) {
    most = Math.max(most, pages.filter((page) => page.deref() !== undefined).length);
    // References that were followed are held until the next turn.
    await Bun.sleep(0);
  }
  // Eight of them make a collection due.
  expect(most).toBeLessThan(24);
});
