import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { PreparedResponse, ResponseBody, HeaderTemplate } from "../../src/cache/response.ts";
import { type CacheEntry, type CacheNamespace, invalidatedLifetime, ResponseCache } from "../../src/cache/response-cache.ts";
import { ConcurrencyLimiter } from "../../src/concurrency-limiter.ts";
import { parseCachePolicy } from "../../src/model/cache-policy.ts";

// The clock of what is remembered stands still unless a test moves it.
let nowMs = 1_000_000;
const realNow = performance.now.bind(performance);

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Asked {
  readonly name: string;
  readonly give: (body: string, finding?: Partial<CacheEntry>) => Promise<void>;
  readonly fail: (message: string) => Promise<void>;
}

/** What a content was made of: its own body can only be read with a promise. */
const template = new HeaderTemplate("text/plain", { "Cache-Status": "pds; hit" });
const bodies = new WeakMap<ResponseBody, string>();
function toContent(body: string): ResponseBody {
  const content = new ResponseBody({ template, body, tag: body.slice(0, 20) });
  bodies.set(content, body);
  return content;
}

/** A kind whose findings the test gives by hand, in any order. */
function createKind(times: Partial<CacheNamespace> = {}) {
  const asked: Asked[] = [];
  const kind: CacheNamespace = {
    name: "thing",
    isInvalidated: true,
    freshMs: 1000,
    staleWhileRevalidateMs: 10_000,
    staleIfErrorMs: 100_000,
    load: (name) => {
      const { promise, resolve, reject } = Promise.withResolvers<CacheEntry>();
      asked.push({
        name,
        give: (body, finding) => {
          resolve({ body: toContent(body), isEmpty: false, ...finding });
          return turn();
        },
        fail: (message) => {
          reject(new Error(message));
          return turn();
        },
      });
      return promise;
    },
    ...times,
  };
  const at = (index: number) => {
    const found = asked.at(index);
    if (found === undefined) throw new Error(`nothing was asked for at ${index}`);
    return found;
  };
  return { kind, asked, at, last: () => at(-1) };
}

/** A kind that finds at once what a name stands for. */
const kindOf = (load: (name: string) => CacheEntry, times: Partial<CacheNamespace> = {}): CacheNamespace =>
  createKind({ load: async (name) => find(name), ...times }).kind;

const bodyOf = (answer: PreparedResponse | undefined) => answer && bodies.get(answer.body);
const headerOf = (answer: PreparedResponse | undefined, name: string) => answer?.headersFor("identity").get(name) ?? null;

/** An answer that must be there without waiting. */
function now(answer: ReturnType<ResponseCache["get"]>): PreparedResponse {
  if (!(answer instanceof PreparedResponse)) throw new Error(`it was not there at once: ${Bun.inspect(answer)}`);
  return answer;
}

const megabyte = 2 ** 20;
const never = () => 0;

async function remember(cache: ResponseCache, kind: CacheNamespace, ...names: string[]): Promise<void> {
  for (const name of names) await cache.get(kind, name);
}

describe("the memory", () => {
  beforeEach(() => {
    spyOn(performance, "now").mockImplementation(() => nowMs);
  });
  afterEach(() => {
    spyOn(performance, "now").mockRestore();
  });

  test("has a name found once however many ask, and then gives it at once", async () => {
    const { kind, asked, last } = createKind();
    const cache = new ResponseCache(megabyte, never);
    const waiting = Array.from({ length: 50 }, () => cache.get(kind, "a"));
    expect(waiting.every((each) => each instanceof Promise)).toBe(true);
    const other = cache.get(kind, "b");
    expect(asked.map(({ name }) => name)).toEqual(["a", "b"]);
    await last().give("B");
    expect(bodyOf(await other)).toBe("B");
    await asked[0]?.give("A");
    const answers = await Promise.all(waiting);
    expect(new Set(answers.map(bodyOf))).toEqual(new Set(["A"]));
    expect(headerOf(answers[0], "cache-status")).toBe("pds; fwd=miss; stored");
    const hit = now(cache.get(kind, "a"));
    expect([bodyOf(hit), headerOf(hit, "cache-status"), headerOf(hit, "age")]).toEqual(["A", "pds; hit", null]);
    expect(now(cache.get(kind, "a"))).toBe(hit);
    expect(asked).toHaveLength(2);
    expect(cache.counts).toMatchObject({ misses: 2, collapsed: 49, hits: 2, failed: 0 });
  });

  test("keeps the same name of two kinds apart", async () => {
    const cache = new ResponseCache(megabyte, never);
    const one = kindOf(() => ({ body: toContent("1"), isEmpty: false }), { name: "one" });
    const other = kindOf(() => ({ body: toContent("2"), isEmpty: false }), { name: "other" });
    await remember(cache, one, "a");
    await remember(cache, other, "a");
    cache.invalidate("one", "a");
    expect(bodyOf(now(cache.get(other, "a")))).toBe("2");
    expect(cache.get(one, "a")).toBeInstanceOf(Promise);
  });

  test("takes no more than its budget: what was not asked for the longest goes first, and is counted", async () => {
    const body = "x".repeat(3000);
    const entryBytes = 2 * body.length + 2048;
    const cache = new ResponseCache(10 * entryBytes, never);
    const kind = kindOf(() => ({ body: toContent(body), isEmpty: false }));
    const names = Array.from({ length: 10 }, (_, index) => `${index}`);
    await remember(cache, kind, ...names);
    expect([cache.bytes, cache.size, cache.counts.evicted]).toEqual([10 * entryBytes, 10, 0]);
    now(cache.get(kind, "0"));
    await remember(cache, kind, "10", "11", "12");
    expect([cache.bytes, cache.size, cache.counts.evicted]).toEqual([10 * entryBytes, 10, 3]);
    now(cache.get(kind, "0"));
    for (const gone of ["1", "2", "3"]) expect([gone, cache.get(kind, gone)]).toEqual([gone, expect.any(Promise)]);
  });

  test("gives what is larger than all of its budget without keeping it", async () => {
    const cache = new ResponseCache(20_000, never);
    const small = kindOf(() => ({ body: toContent("small"), isEmpty: false }));
    const large = kindOf(() => ({ body: toContent("x".repeat(30_000)), isEmpty: false }), { name: "large" });
    await remember(cache, small, "a");
    expect(bodyOf(await cache.get(large, "a"))).toHaveLength(30_000);
    expect(cache.bytes).toBeLessThan(20_000);
    now(cache.get(small, "a"));
  });

  test("of nothing keeps nothing, and still asks once at a time", async () => {
    const { kind, asked, last } = createKind();
    const cache = new ResponseCache(0, never);
    const both = [cache.get(kind, "a"), cache.get(kind, "a")];
    expect(asked).toHaveLength(1);
    await last().give("A");
    const [one, other] = await Promise.all(both);
    expect([bodyOf(one), bodyOf(other), headerOf(one, "cache-status")]).toEqual(["A", "A", "pds; fwd=bypass"]);
    expect(cache.get(kind, "a")).toBeInstanceOf(Promise);
    expect([cache.bytes, cache.size]).toEqual([0, 0]);
  });

  test("is not filled by names that somebody makes up", async () => {
    const cache = new ResponseCache(megabyte, never);
    const full = kindOf(() => ({ body: toContent("full"), isEmpty: false }));
    const empty = kindOf(() => ({ body: toContent("{}"), isEmpty: true }), { name: "empty" });
    await remember(cache, full, "a");
    const { bytes } = memory;
    for (let index = 0; index < 20_000; index++) await cache.get(empty, `made-up-${index}`);
    expect(bodyOf(now(cache.get(full, "a")))).toBe("full");
    expect(cache.bytes).toBe(bytes);
    expect(cache.size).toBeWithin(2, 10_002);
    now(cache.get(empty, "made-up-19999"));
    expect(cache.get(empty, "made-up-0")).toBeInstanceOf(Promise);
  });

  test.each([
    ["an empty answer", toContent("{}")],
    ["nothing", undefined],
  ])("keeps it for 10 s that a name stands for %s, however often it is found to be the same", async (_, content) => {
    let found = 0;
    const cache = new ResponseCache(megabyte, never);
    const kind = kindOf(
      () => {
        found++;
        return { content, isEmpty: true };
      },
      { freshMs: 300_000 },
    );
    const expected = content && "{}";
    expect(bodyOf(await cache.get(kind, "a"))).toBe(expected);
    for (let time = 1; time <= 4; time++) {
      expect(found).toBe(time);
      nowMs += 9_900;
      expect(bodyOf(cache.get(kind, "a") as PreparedResponse | undefined)).toBe(expected);
      await turn();
      expect(found).toBe(time);
      nowMs += 200;
      expect(bodyOf((await cache.get(kind, "a")) as PreparedResponse | undefined)).toBe(expected);
      await turn();
    }
  });

  test("moves a name between the full and the empty ones", async () => {
    const { kind, last } = createKind({ freshMs: 20_000 });
    const cache = new ResponseCache(megabyte, never);
    const asking = cache.get(kind, "a");
    await last().give("{}", { isEmpty: true });
    await asking;
    expect([cache.size, cache.bytes]).toEqual([1, 0]);
    nowMs += 10_001;
    // That there was nothing is never said for longer.
    const again = cache.get(kind, "a");
    await last().give("full");
    expect(bodyOf(await again)).toBe("full");
    expect(bodyOf(now(cache.get(kind, "a")))).toBe("full");
    expect([cache.size, cache.bytes > 0]).toEqual([1, true]);
    nowMs += 20_001;
    expect(bodyOf(now(cache.get(kind, "a")))).toBe("full");
    await last().give("{}", { isEmpty: true });
    expect(bodyOf(now(cache.get(kind, "a")))).toBe("{}");
    expect([cache.size, cache.bytes]).toEqual([1, 0]);
  });

  test("gives an answer without an age while it is only read again in the background, once", async () => {
    const { kind, asked, last } = createKind();
    const cache = new ResponseCache(megabyte, never);
    const asking = cache.get(kind, "a");
    await last().give("old");
    await asking;
    nowMs += 999;
    now(cache.get(kind, "a"));
    expect(asked).toHaveLength(1);
    nowMs += 2501;
    for (let time = 0; time < 5; time++) {
      const old = now(cache.get(kind, "a"));
      expect([bodyOf(old), headerOf(old, "cache-status"), headerOf(old, "age")]).toEqual(["old", "pds; hit", null]);
    }
    expect(asked).toHaveLength(2);
    await last().give("new");
    const hit = now(cache.get(kind, "a"));
    expect([bodyOf(hit), headerOf(hit, "cache-status"), headerOf(hit, "age")]).toEqual(["new", "pds; hit", null]);
    expect(cache.counts).toMatchObject({ hits: 7, stale: 0, misses: 2 });
  });

  test("gives what has been kept for hours without an age, as long as its changes can be looked for", async () => {
    let unverifiedMs = 0;
    const policy = parseCachePolicy("max-age=60, s-maxage=300, stale-if-error=86400");
    const { kind, asked, last } = createKind(invalidatedLifetime(policy));
    const cache = new ResponseCache(megabyte, () => unverifiedMs);
    const asking = cache.get(kind, "a");
    await last().give("A");
    await asking;
    for (let hour = 1; hour <= 3; hour++) {
      nowMs += 3_600_000;
      const hit = now(cache.get(kind, "a"));
      expect([bodyOf(hit), headerOf(hit, "cache-status"), headerOf(hit, "age")]).toEqual(["A", "pds; hit", null]);
      expect(asked).toHaveLength(1 + hour);
      // That it cannot be read again makes it no older: no change of it has been recorded.
      await last().fail("busy");
      expect(headerOf(now(cache.get(kind, "a")), "age")).toBeNull();
    }
    // Its age begins when its changes can no longer be looked for.
    unverifiedMs = 90_000;
    expect(headerOf(now(cache.get(kind, "a")), "age")).toBe("90");
    unverifiedMs = 0;
    expect(headerOf(now(cache.get(kind, "a")), "age")).toBeNull();
  });

  test("gives what was read after changes could last be looked for with the age since that reading", async () => {
    let unverifiedMs = 0;
    const { kind, last } = createKind();
    const cache = new ResponseCache(megabyte, () => unverifiedMs);
    const asking = cache.get(kind, "a");
    await last().give("A");
    await asking;
    nowMs += 3000;
    unverifiedMs = 8000;
    expect(headerOf(now(cache.get(kind, "a")), "age")).toBe("3");
  });

  test("beyond that time waits for the new one", async () => {
    const { kind, last } = createKind();
    const cache = new ResponseCache(megabyte, never);
    const asking = cache.get(kind, "a");
    await last().give("old");
    await asking;
    nowMs += 11_001;
    const waiting = cache.get(kind, "a");
    expect(waiting).toBeInstanceOf(Promise);
    await last().give("new");
    const answer = await waiting;
    expect([bodyOf(answer), headerOf(answer, "cache-status")]).toEqual(["new", "pds; fwd=stale; stored"]);
  });

  test("of a kind that tells nobody of its changes waits as soon as it is old", async () => {
    const { kind, asked, last } = createKind({ isInvalidated: false, freshMs: 500, staleWhileRevalidateMs: 0 });
    const cache = new ResponseCache(megabyte, never);
    const asking = cache.get(kind, "a");
    await last().give("1");
    await asking;
    nowMs += 499;
    now(cache.get(kind, "a"));
    nowMs += 2;
    const waiting = [cache.get(kind, "a"), cache.get(kind, "a")];
    expect(waiting).toEqual([expect.any(Promise), expect.any(Promise)]);
    expect(asked).toHaveLength(2);
    await last().give("2");
    expect((await Promise.all(waiting)).map(bodyOf)).toEqual(["2", "2"]);
  });

  test("gives the old answer where the new one cannot be found, for as long as it may", async () => {
    const { kind, asked, last } = createKind({ isInvalidated: false });
    const cache = new ResponseCache(megabyte, never);
    const asking = cache.get(kind, "a");
    await last().give("old");
    await asking;

    nowMs += 2000;
    now(cache.get(kind, "a"));
    await last().fail("away");
    // Not again before a second has passed.
    for (let time = 0; time < 5; time++) now(cache.get(kind, "a"));
    expect(asked).toHaveLength(2);
    nowMs += 1001;
    now(cache.get(kind, "a"));
    expect(asked).toHaveLength(3);
    await last().fail("away");

    nowMs += 50_000;
    const late = cache.get(kind, "a");
    expect(late).toBeInstanceOf(Promise);
    await last().fail("away");
    const answer = await late;
    expect([bodyOf(answer), headerOf(answer, "age")]).toEqual(["old", "53"]);
    expect(headerOf(answer, "cache-status")).toBe("pds; hit; detail=stale-if-error");

    // 1 s fresh, 10 s while it is found again, 100 s when that fails.
    nowMs += 111_000 - 53_001;
    const latest = cache.get(kind, "a");
    await last().fail("away");
    expect(bodyOf(await latest)).toBe("old");
    nowMs += 1;
    const tooLate = Promise.resolve(cache.get(kind, "a"));
    tooLate.catch(() => {});
    await last().fail("still away");
    expect(tooLate).rejects.toThrow("still away");
    expect(cache.counts.failed).toBe(5);
  });

  test("gives a failure to all who wait, and asks anew after it", async () => {
    const { kind, asked, last } = createKind();
    const cache = new ResponseCache(megabyte, never);
    const waiting = [1, 2, 3].map(async () => cache.get(kind, "a"));
    const settled = Promise.allSettled(waiting);
    await last().fail("away");
    expect((await settled).map((each) => each.status === "rejected" && each.reason.message)).toEqual(
      Array(3).fill("away"),
    );
    expect([cache.size, cache.bytes, cache.counts.failed]).toEqual([0, 0, 1]);
    const again = cache.get(kind, "a");
    expect(asked).toHaveLength(2);
    await last().give("A");
    expect(bodyOf(await again)).toBe("A");
  });

  test("takes a kind that throws at once for one that fails", async () => {
    const cache = new ResponseCache(megabyte, never);
    const { kind } = createKind({
      load: () => {
        throw new Error("at once");
      },
    });
    for (let time = 0; time < 2; time++) expect((async () => cache.get(kind, "a"))()).rejects.toThrow("at once");
    await turn();
    expect(cache.counts).toMatchObject({ misses: 2, collapsed: 0, failed: 2 });
  });

  test("does not keep what was found before a drop, and has whoever comes after it ask anew", async () => {
    for (const forget of [
      (cache: ResponseCache) => cache.invalidate("thing", "a"),
      (cache: ResponseCache) => cache.invalidateMatching("thing", new Set([99])),
      (cache: ResponseCache) => cache.invalidateMatching("thing", undefined),
      (cache: ResponseCache) => cache.clear(),
    ]) {
      const { kind, asked, at } = createKind();
      const cache = new ResponseCache(megabyte, never);
      const before = cache.get(kind, "a");
      await forget(cache);
      const after = cache.get(kind, "a");
      const alsoAfter = cache.get(kind, "a");
      expect(asked).toHaveLength(2);
      await at(0).give("before");
      expect(bodyOf(await before)).toBe("before");
      // The end of the first search ends nothing of the second.
      const later = cache.get(kind, "a");
      expect([later, asked.length]).toEqual([expect.any(Promise), 2]);
      await at(1).give("after");
      expect((await Promise.all([after, alsoAfter, later])).map(bodyOf)).toEqual(["after", "after", "after"]);
      expect(bodyOf(now(cache.get(kind, "a")))).toBe("after");
    }
  });

  test("does not keep a search's finding that comes after a drop and after the next search's", async () => {
    const { kind, at } = createKind();
    const cache = new ResponseCache(megabyte, never);
    const before = cache.get(kind, "a");
    cache.invalidate("thing", "a");
    const after = cache.get(kind, "a");
    await at(1).give("after");
    expect(bodyOf(await after)).toBe("after");
    await at(0).give("before");
    expect(bodyOf(await before)).toBe("before");
    expect(bodyOf(now(cache.get(kind, "a")))).toBe("after");
  });

  test("forgets by fingerprints exactly what has one of them", async () => {
    const cache = new ResponseCache(megabyte, never);
    const find = (name: string): CacheEntry => ({
      body: toContent(name),
      isEmpty: name.startsWith("empty"),
      fingerprints: (name.match(/\d+/g) ?? []).map(Number),
    });
    const kind = kindOf(find);
    const other = kindOf(find, { name: "other" });
    const names = ["full-1", "full-1-2", "full-2-3", "full-3", "full", "empty-1", "empty-2", "empty-3"];
    const kept = (of = kind) => names.filter((name) => cache.get(of, name) instanceof PreparedResponse);
    await remember(cache, kind, ...names);
    await remember(cache, other, ...names);
    await cache.invalidateMatching("thing", new Set([4, 5]));
    expect(kept()).toEqual(names);
    await cache.invalidateMatching("thing", new Set([2, 9]));
    expect(cache.counts.invalidated).toBe(3);
    expect(kept()).toEqual(["full-1", "full-3", "full", "empty-1", "empty-3"]);
    await turn();
    await cache.invalidateMatching("thing", undefined);
    expect(cache.counts.invalidated).toBe(3 + names.length);
    expect(kept()).toEqual([]);
    expect(kept(other)).toEqual(names);
    await turn();
    cache.clear();
    expect([cache.size, cache.bytes, kept(other)]).toEqual([0, 0, []]);
  });

  test("lets others have their turn while it forgets some of very many", async () => {
    const cache = new ResponseCache(64 * megabyte, never);
    const kind = kindOf(() => ({ body: toContent("x"), isEmpty: false, fingerprints: [1] }));
    for (let index = 0; index < 12_000; index++) await cache.get(kind, `${index}`);
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      for (; !isOver; turns++) await turn();
    })();
    const forgetting = cache.invalidateMatching("thing", new Set([1]));
    // Found after the change: no reason to forget it.
    const anew = await cache.get(kind, "11999");
    expect(anew?.body).toBeInstanceOf(ResponseBody);
    // Nor for this one, which was forgotten and found again before its turn.
    cache.invalidate("thing", "0");
    await cache.get(kind, "0");
    await forgetting;
    isOver = true;
    await counting;
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(cache.size).toBe(2);
    now(cache.get(kind, "0"));
    now(cache.get(kind, "11999"));
  });

  test("keeps the very content whose entity tag is the same still, with its compressed forms", async () => {
    const { kind, last } = createKind();
    const cache = new ResponseCache(megabyte, never);
    const text = "the same ".repeat(500);
    const asking = cache.get(kind, "a");
    await last().give(text);
    const first = (await asking)?.body;
    const compressed = await first?.encode("gzip");
    nowMs += 1500;
    now(cache.get(kind, "a"));
    await last().give(text);
    const hit = now(cache.get(kind, "a"));
    expect(headerOf(hit, "cache-status")).toBe("pds; hit");
    expect(hit.body).toBe(first as ResponseBody);
    expect(hit.body.encode("gzip")).toBe(compressed as Blob);
    nowMs += 999;
    expect(headerOf(now(cache.get(kind, "a")), "cache-status")).toBe("pds; hit");
  });

  test("while nobody can tell what has changed gives what it has, with its age, up to a limit", async () => {
    let unverifiedMs = 0;
    const { kind, asked, last } = createKind({ freshMs: 300_000 });
    const cache = new ResponseCache(megabyte, () => unverifiedMs);
    const asking = cache.get(kind, "a");
    await last().give("A");
    await asking;
    const lose = (ms: number) => {
      nowMs += ms - unverifiedMs;
      unverifiedMs = ms;
    };
    lose(2500);
    const answer = now(cache.get(kind, "a"));
    expect([bodyOf(answer), headerOf(answer, "age")]).toEqual(["A", "2"]);
    expect(headerOf(answer, "cache-status")).toBe("pds; hit; detail=unverified");
    lose(100_000);
    now(cache.get(kind, "a"));
    expect(asked).toHaveLength(1);
    lose(100_001);
    const refused = Promise.resolve(cache.get(kind, "a"));
    refused.catch(() => {});
    await last().fail("lost");
    expect(refused).rejects.toThrow("lost");
    unverifiedMs = 0;
    expect(headerOf(now(cache.get(kind, "a")), "cache-status")).toBe("pds; hit");
  });

  test("tells the whole age of what nobody watches, though the store was lost only lately", async () => {
    let unverifiedMs = 0;
    const { kind, last } = createKind({
      isInvalidated: false,
      freshMs: 500,
      staleWhileRevalidateMs: 0,
      staleIfErrorMs: 5000,
    });
    const cache = new ResponseCache(megabyte, () => unverifiedMs);
    const asking = cache.get(kind, "a");
    await last().give("A");
    await asking;
    nowMs += 4500;
    unverifiedMs = 2000;
    expect(headerOf(now(cache.get(kind, "a")), "age")).toBe("4");
    nowMs += 60_000;
    const refused = Promise.resolve(cache.get(kind, "a"));
    refused.catch(() => {});
    expect(refused).toBeInstanceOf(Promise);
    await last().fail("lost");
    expect(refused).rejects.toThrow("lost");
  });

  const names = ["a", "b", "c", "d"];
  const anyName = fc.constantFrom(...names);
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ is: fc.constant("ask" as const), name: anyName }) },
    { weight: 3, arbitrary: fc.record({ is: fc.constant("change" as const), name: anyName }) },
    { weight: 2, arbitrary: fc.record({ is: fc.constant("drop" as const), name: anyName }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant("dropSome" as const), names: fc.subarray(names) }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant("dropAll" as const), clears: fc.boolean() }) },
    {
      weight: 6,
      arbitrary: fc.record({ is: fc.constant("end" as const), which: fc.nat(9), fails: fc.nat(2) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        is: fc.constant("pass" as const),
        ms: fc.constantFrom(600, 5000, 5000, 30_000, 30_000, 200_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ is: fc.constant("lose" as const), ms: fc.constantFrom(0, 0, 5000) }) },
  );

  test("never gives what is older than the last drop before it was asked, whatever comes in between", async () => {
    let kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), fc.boolean(), async (steps, isNarrow) => {
        const state = new Map(names.map((name) => [name, 0]));
        /** The state that each name had at its last drop. */
        const floors = new Map(state);
        /** Searches that what they find may be kept of: one a name at most. */
        const current = new Map<string, object>();
        const searches: { end: (fails: boolean) => void }[] = [];
        const waiting: Promise<unknown>[] = [];
        let unverifiedMs = 0;
        // Narrow: two of the four have room.
        const cache = new ResponseCache(isNarrow ? 2 * 2100 : megabyte, () => unverifiedMs);
        const kind: CacheNamespace = {
          name: "thing",
          isInvalidated: true,
          freshMs: 1000,
          staleWhileRevalidateMs: 10_000,
          staleIfErrorMs: 100_000,
          load: (name) => {
            expect([name, current.has(name)]).toEqual([name, false]);
            const read = state.get(name) ?? 0;
            const { promise, resolve, reject } = Promise.withResolvers<CacheEntry>();
            const search = {
              end: (fails: boolean) => {
                if (current.get(name) === search) current.delete(name);
                searches.splice(searches.indexOf(search), 1);
                if (fails) return reject(new Error("away"));
                // Each third state is empty.
                const isEmpty = read % 3 === 0;
                resolve({ body: toContent(`${read}`), isEmpty, fingerprints: [names.indexOf(name)] });
              },
            };
            current.set(name, search);
            searches.push(search);
            return promise;
          },
        };
        const dropped = (name: string) => {
          floors.set(name, state.get(name) ?? 0);
          current.delete(name);
        };
        for (const each of steps) {
          if (each.is === "ask") {
            const floor = floors.get(each.name) ?? 0;
            const judge = (answer: PreparedResponse | undefined) => {
              kinds = kinds.add(headerOf(answer, "cache-status") ?? "");
              expect(Number(bodyOf(answer))).toBeGreaterThanOrEqual(floor);
            };
            const answer = cache.get(kind, each.name);
            if (!(answer instanceof Promise)) judge(answer);
            else
              waiting.push(
                answer.then(judge, (error) => {
                  if (error.message !== "away") throw error;
                }),
              );
          } else if (each.is === "change") state.set(each.name, (state.get(each.name) ?? 0) + 1);
          else if (each.is === "drop") {
            cache.invalidate("thing", each.name);
            dropped(each.name);
          } else if (each.is === "dropSome") {
            // All that is under way is outdated, whatever it will be made of.
            const forgetting = cache.invalidateMatching("thing", new Set(each.names.map((name) => names.indexOf(name))));
            current.clear();
            await forgetting;
            for (const name of each.names) dropped(name);
          } else if (each.is === "dropAll") {
            if (each.clears) cache.clear();
            else await cache.invalidateMatching("thing", undefined);
            for (const name of names) dropped(name);
          } else if (each.is === "end") {
            searches[each.which % Math.max(1, searches.length)]?.end(each.fails === 0);
            for (let microtask = 0; microtask < 5; microtask++) await Promise.resolve();
          } else if (each.is === "pass") nowMs += each.ms;
          else if (each.is === "lose") unverifiedMs = each.ms;
          expect(cache.bytes).toBeLessThanOrEqual(isNarrow ? 2 * 2100 : megabyte);
        }
        for (const search of [...searches]) search.end(false);
        await Promise.all(waiting);
        expect(searches).toEqual([]);
      }),
      { numRuns: 2000 },
    );
    // What was to be tried was tried; what was outdated before it was found comes up seldom.
    const often = ["fwd=miss; stored", "fwd=stale; stored", "hit"];
    const seldom = ["fwd=miss", "fwd=stale", "hit; detail=stale-if-error", "hit; detail=unverified"];
    expect([...kinds]).toEqual(expect.arrayContaining(often.map((kind) => `pds; ${kind}`)));
    expect([...often, ...seldom].map((kind) => `pds; ${kind}`)).toEqual(expect.arrayContaining([...kinds]));
  });
});

describe("a limiter", () => {
  const refusal = "The store cannot be reached at the moment.";
  const createLimiter = (options: Partial<ConstructorParameters<typeof ConcurrencyLimiter>[0]> = {}) =>
    new ConcurrencyLimiter({ name: "store", maxActive: 2, maxQueued: 3, timeoutMs: 10_000, rejection, ...options });

  /** Work that ends when the test says so. */
  const createWork = () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const work = Object.assign(
      () => {
        work.hasBegun = true;
        return promise;
      },
      { hasBegun: false, resolve, reject },
    );
    return work;
  };
  const crowd = (limiter: ConcurrencyLimiter, size: number) => {
    const works = Array.from({ length: size }, createWork);
    const runs = works.map((work) => limiter.run(work));
    for (const run of runs) run.catch(() => {});
    const begun = () => works.flatMap(({ hasBegun }, index) => (hasBegun ? [index] : []));
    return { works, runs, begun };
  };
  const unavailable = { code: "unavailable", message: refusal };

  test("lets so many in, has so many wait in their order, and turns others away at once", async () => {
    const limiter = createLimiter();
    const { works, runs, begun } = crowd(limiter, 7);
    expect([limiter.active, limiter.queued, begun()]).toEqual([2, 3, [0, 1]]);
    for (const beyond of [5, 6]) expect(runs[beyond]).rejects.toMatchObject(unavailable);
    await turn();
    expect(limiter.counts.rejected).toBe(2);
    works[1]?.resolve("one");
    expect(await runs[1]).toBe("one");
    await turn();
    expect([limiter.active, limiter.queued, begun()]).toEqual([2, 2, [0, 1, 2]]);
    works[0]?.resolve("zero");
    await turn();
    await turn();
    expect(begun()).toEqual([0, 1, 2, 3]);
    for (const index of [2, 3, 4]) works[index]?.resolve(`${index}`);
    expect(await Promise.all([2, 3, 4].map((index) => runs[index] as Promise<string>))).toEqual(["2", "3", "4"]);
    await turn();
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([0, 0]);
    expect(limiter.counts).toMatchObject({ calls: 5, failed: 0, refused: 2 });
    expect(limiter.counts.busyS).toBeGreaterThan(0);
  });

  test.each([
    ["fails", async () => Promise.reject(new Error("broken"))],
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
  ])(
    "hands the failure of work that %s on, and its place to the next",
    async (_, work) => {
      const limiter = createLimiter({ inside: 1 });
      const outcomes = await Promise.allSettled([limiter.run(work), limiter.run(work), limiter.run(async () => "well")]);
      expect(outcomes).toMatchObject([
        { reason: { message: "broken" } },
        { reason: { message: "broken" } },
        { value: "well" },
      ]);
      await turn();
      expect([limiter.active, limiter.queued, limiter.counts.failed]).toEqual([0, 0, 2]);
    },
    2000,
  );

  test("loses patience with work that does not end, and keeps its place until it does", async () => {
    const limiter = createLimiter({ inside: 1, timeoutMs: 60 });
    const { works, runs } = crowd(limiter, 1);
    const begunMs = realNow();
    expect(runs[0]).rejects.toMatchObject(unavailable);
    await runs[0]?.catch(() => {});
    expect(realNow() - begunMs).toBeWithin(50, 500);
    expect([limiter.active, limiter.counts.rejected, limiter.counts.failed]).toEqual([1, 1, 1]);
    works[0]?.resolve("late");
    await turn();
    await turn();
    expect(limiter.active).toBe(0);
    expect(await limiter.run(async () => "well")).toBe("well");
  });

  test("keeps nobody waiting beyond the patience, though nobody leaves", async () => {
    const limiter = createLimiter({ inside: 1, timeoutMs: 60 });
    const { works, runs } = crowd(limiter, 3);
    const outcome = await Promise.race([Promise.allSettled(runs), Bun.sleep(1000).then(() => "they still wait")]);
    expect(outcome).toMatchObject(Array(3).fill({ status: "rejected", reason: unavailable }));
    expect([limiter.active, limiter.queued]).toEqual([1, 0]);
    works[0]?.resolve("late");
    await turn();
    await turn();
    expect([limiter.active, works[1]?.hasBegun]).toEqual([0, false]);
  });

  test("does not begin the work of somebody whose patience has ended by the time of the turn", async () => {
    const limiter = createLimiter({ inside: 1, timeoutMs: 60 });
    const { works, runs, begun } = crowd(limiter, 3);
    await Bun.sleep(80);
    const late = limiter.run(async () => "well");
    works[0]?.resolve("late");
    expect(await late).toBe("well");
    expect(begun()).toEqual([0]);
    for (const index of [1, 2]) expect(runs[index]).rejects.toMatchObject(unavailable);
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([0, 0]);
  });

  test("that is shut turns away at once who comes and who waits, and is as before when it is opened", async () => {
    const limiter = createLimiter({ inside: 1 });
    const { works, runs, begun } = crowd(limiter, 3);
    limiter.close();
    for (const index of [1, 2]) expect(runs[index]).rejects.toMatchObject(unavailable);
    expect(limiter.run(async () => "well")).rejects.toMatchObject(unavailable);
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([1, 0]);
    expect(limiter.counts.rejected).toBeWithin(3, 5);
    limiter.open();
    const next = limiter.run(async () => "well");
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([1, 1]);
    // Whether who was inside was told to go or not: the place is free when the work has ended.
    works[0]?.resolve("first");
    expect(await next).toBe("well");
    expect(begun()).toEqual([0]);
  });

  test("gives others their turn between works that never really wait", async () => {
    const limiter = createLimiter({ inside: 1, waiting: 1000 });
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      for (; !isOver; turns++) await turn();
    })();
    await Promise.all(Array.from({ length: 200 }, () => limiter.run(async () => {})));
    isOver = true;
    await counting;
    expect(turns).toBeGreaterThanOrEqual(190);
  });

  test("never has more inside or waiting than it says, loses nobody, and keeps the order", async () => {
    const guest = fc.record({
      pause: fc.nat(2),
      work: fc.nat(3),
      fails: fc.boolean(),
      shuts: fc.integer({ min: 0, max: 15 }).map((chance) => chance === 0),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(5),
        fc.array(guest, { minLength: 1, maxLength: 25 }),
        async (inside, waiting, guests) => {
          const limiter = createLimiter({ inside, waiting });
          let isInside = 0;
          const begun: number[] = [];
          const endings = { well: 0, failed: 0, refused: 0 };
          const runs: Promise<void>[] = [];
          for (const [index, { pause, work, fails, shuts }] of guests.entries()) {
            for (let time = 0; time < pause; time++) await turn();
            if (shuts) {
              limiter.close();
              expect(limiter.queued).toBe(0);
              limiter.open();
            }
            const run = limiter.run(async () => {
              begun.push(index);
              isInside++;
              expect(isInside).toBeLessThanOrEqual(inside);
              for (let time = 0; time < work; time++) await turn();
              isInside--;
              if (fails) throw new Error("broken");
            });
            expect(limiter.active).toBeLessThanOrEqual(inside);
            expect(limiter.queued).toBeLessThanOrEqual(waiting);
            runs.push(
              run.then(
                () => void endings.well++,
                ({ message }) => {
                  if (message === "broken") endings.failed++;
                  else {
                    expect(message).toBe(refusal);
                    endings.refused++;
                  }
                },
              ),
            );
          }
          await Promise.all(runs);
          for (let time = 0; time < 10; time++) await turn();
          expect([limiter.active, limiter.queued, isInside]).toEqual([0, 0, 0]);
          expect(begun).toEqual(begun.toSorted((a, b) => a - b));
          // Whoever was inside when it was shut may have been told to go.
          expect(endings.well + endings.failed).toBeLessThanOrEqual(begun.length);
          expect(endings.well + endings.failed + endings.refused).toBe(guests.length);
          expect(limiter.counts.calls).toBe(begun.length);
          expect(limiter.counts.rejected).toBeGreaterThanOrEqual(endings.refused);
        },
      ),
      { numRuns: 200 },
    );
  });
});
