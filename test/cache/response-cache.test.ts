import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { CompressionLoad, type SendableBody } from "../../src/cache/encoded-body.ts";
import { type CacheEntry, type CacheNamespace, invalidatedLifetime } from "../../src/cache/namespace.ts";
import { parseCachePolicy } from "../../src/cache/policy.ts";
import { HeaderTemplate, PreparedResponse, ResponseBody, toAge } from "../../src/cache/response.ts";
import { ResponseCache } from "../../src/cache/response-cache.ts";

// The clock stands still unless a test moves it.
let nowMs = 1_000_000;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const compressionLoad = new CompressionLoad();

interface Load {
  readonly key: string;
  readonly succeed: (body: string, entry?: Partial<CacheEntry>) => Promise<void>;
  readonly fail: (message: string) => Promise<void>;
}

/** The text of each body. */
const texts = new WeakMap<ResponseBody, string>();
const template = new HeaderTemplate("text/plain");
function toBody(text: string): ResponseBody {
  const body = new ResponseBody({ template, body: text, tag: text.slice(0, 20) });
  texts.set(body, text);
  return body;
}

/** A namespace whose loads the test completes by hand, in any order. */
function createNamespace(options: Partial<CacheNamespace> = {}) {
  const loads: Load[] = [];
  const namespace: CacheNamespace = {
    name: "thing",
    isInvalidated: true,
    freshMs: 1000,
    staleWhileRevalidateMs: 10_000,
    staleIfErrorMs: 100_000,
    load: (key) => {
      const { promise, resolve, reject } = Promise.withResolvers<CacheEntry>();
      loads.push({
        key,
        succeed: (body, entry) => {
          resolve({ body: toBody(body), isEmpty: false, ...entry });
          return turn();
        },
        fail: (message) => {
          reject(new Error(message));
          return turn();
        },
      });
      return promise;
    },
    ...options,
  };
  const at = (index: number) => {
    const load = loads.at(index);
    if (load === undefined) throw new Error(`there is no load ${index}`);
    return load;
  };
  /** Loads the key `a` into a cache. */
  const loadInto = async (cache: ResponseCache, body: string) => {
    const loading = cache.get(namespace, "a");
    await at(-1).succeed(body);
    await loading;
  };
  /** Requests the key `a`, and expects the failure of its load. */
  const expectFailure = async (cache: ResponseCache, message: string) => {
    const failed = Promise.resolve(cache.get(namespace, "a"));
    failed.catch(() => {});
    await at(-1).fail(message);
    expect(failed).rejects.toThrow(message);
  };
  return { namespace, loads, at, last: () => at(-1), loadInto, expectFailure };
}

/** A namespace that loads without waiting. */
const namespaceOf = (load: (key: string) => CacheEntry, options: Partial<CacheNamespace> = {}): CacheNamespace =>
  createNamespace({ load: async (key) => load(key), ...options }).namespace;

const bodyOf = (response: PreparedResponse | undefined) => response && texts.get(response.body);
const statusOf = (response: PreparedResponse | undefined) => response?.cacheStatus;
const ageOf = (response: PreparedResponse | undefined) => toAge(nowMs - (response?.asOfMs ?? nowMs)) ?? null;

/** A response that must come without a promise. */
function cached(response: ReturnType<ResponseCache["get"]>): PreparedResponse {
  if (!(response instanceof PreparedResponse)) throw new Error(`not cached: ${Bun.inspect(response)}`);
  return response;
}

const megabyte = 2 ** 20;
const always = (nowMs: number) => nowMs;

async function fill(cache: ResponseCache, namespace: CacheNamespace, ...keys: string[]): Promise<void> {
  for (const key of keys) await cache.get(namespace, key);
}

describe("the response cache", () => {
  beforeEach(() => {
    spyOn(performance, "now").mockImplementation(() => nowMs);
  });
  afterEach(() => {
    spyOn(performance, "now").mockRestore();
  });

  test("collapses concurrent loads of a key, and then serves it without a promise", async () => {
    const { namespace, loads, last } = createNamespace();
    const cache = new ResponseCache(megabyte, always);
    const waiting = Array.from({ length: 50 }, () => cache.get(namespace, "a"));
    expect(waiting.every((each) => each instanceof Promise)).toBe(true);
    const other = cache.get(namespace, "b");
    expect(loads.map(({ key }) => key)).toEqual(["a", "b"]);
    await last().succeed("B");
    expect(bodyOf(await other)).toBe("B");
    await loads[0]?.succeed("A");
    const answers = await Promise.all(waiting);
    expect(new Set(answers.map(bodyOf))).toEqual(new Set(["A"]));
    expect(statusOf(answers[0])).toBe("pds; fwd=miss; stored");
    const hit = cached(cache.get(namespace, "a"));
    expect([bodyOf(hit), statusOf(hit), ageOf(hit)]).toEqual(["A", "pds; hit", null]);
    expect(cached(cache.get(namespace, "a")).body).toBe(hit.body);
    expect(loads).toHaveLength(2);
    expect(cache.counts).toMatchObject({ misses: 2, collapsed: 49, hits: 2, failed: 0 });
  });

  test("never exceeds its maximum size, and evicts least recently used entries first", async () => {
    const body = "x".repeat(3000);
    const namespace = namespaceOf(() => ({ body: toBody(body), isEmpty: false }));
    const one = new ResponseCache(megabyte, always);
    await fill(one, namespace, "00");
    const entryBytes = one.bytes;
    expect(entryBytes).toBeWithin(3500, 5000);
    const cache = new ResponseCache(10 * entryBytes, always);
    const names = Array.from({ length: 10 }, (_, index) => `0${index}`);
    await fill(cache, namespace, ...names);
    expect([cache.bytes, cache.size, cache.counts.evicted]).toEqual([10 * entryBytes, 10, 0]);
    cached(cache.get(namespace, "00"));
    await fill(cache, namespace, "10", "11", "12");
    expect([cache.bytes, cache.size, cache.counts.evicted]).toEqual([10 * entryBytes, 10, 3]);
    cached(cache.get(namespace, "00"));
    for (const gone of ["01", "02", "03"])
      expect([gone, cache.get(namespace, gone)]).toEqual([gone, expect.any(Promise)]);
  });

  test("counts compressed forms instead of the body if only these are requested", async () => {
    const cache = new ResponseCache(megabyte, always);
    const namespace = namespaceOf(() => ({ body: toBody("the same ".repeat(500)), isEmpty: false }));
    await fill(cache, namespace, "a");
    const { bytes } = cache;
    const { body } = cached(cache.get(namespace, "a"));
    const { length } = body.encode("gzip", compressionLoad) as Uint8Array;
    expect(cache.bytes).toBe(bytes - 4500 + length);
    body.encode("identity", compressionLoad);
    expect(cache.bytes).toBe(bytes + length);
    cache.invalidate("thing", "a");
    expect(cache.bytes).toBe(0);
    body.encode("zstd", compressionLoad);
    expect(cache.bytes).toBe(0);
  });

  test("counts the purge tags and fingerprints of a response, which has many if it has many SKUs", async () => {
    const cache = new ResponseCache(megabyte, always);
    const purgeTags = { field: "xkey", value: "t".repeat(8000) };
    const fingerprints = Array.from({ length: 500 }, (_, index) => index);
    const body = () => new ResponseBody({ template, body: "{}", tag: "a", purgeTags });
    const many = namespaceOf(() => ({ body: body(), isEmpty: false, fingerprints }), { name: "many" });
    await fill(cache, many, "a");
    expect(cache.bytes).toBeWithin(12_000, 15_000);
    for (let index = 0; index < 200; index++) await cache.get(many, `${index}`);
    expect(cache.size).toBeWithin(60, 90);
  });

  test("does not store a response that is larger than the whole cache", async () => {
    const cache = new ResponseCache(20_000, always);
    const small = namespaceOf(() => ({ body: toBody("small"), isEmpty: false }));
    const large = namespaceOf(() => ({ body: toBody("x".repeat(30_000)), isEmpty: false }), { name: "large" });
    await fill(cache, small, "a");
    expect(bodyOf(await cache.get(large, "a"))).toHaveLength(30_000);
    expect(cache.bytes).toBeLessThan(20_000);
    cached(cache.get(small, "a"));
  });

  test("of size 0 stores nothing, but still collapses concurrent loads", async () => {
    const { namespace, loads, last } = createNamespace();
    const cache = new ResponseCache(0, always);
    const both = [cache.get(namespace, "a"), cache.get(namespace, "a")];
    expect(loads).toHaveLength(1);
    await last().succeed("A");
    const [one, other] = await Promise.all(both);
    expect([bodyOf(one), bodyOf(other), statusOf(one)]).toEqual(["A", "A", "pds; fwd=bypass"]);
    expect(cache.get(namespace, "a")).toBeInstanceOf(Promise);
    expect([cache.bytes, cache.size]).toEqual([0, 0]);
  });

  test("is not filled by invented keys", async () => {
    const cache = new ResponseCache(megabyte, always);
    const full = namespaceOf(() => ({ body: toBody("full"), isEmpty: false }));
    const empty = namespaceOf(() => ({ body: toBody("{}"), isEmpty: true }), { name: "empty" });
    await fill(cache, full, "a");
    const { bytes } = cache;
    for (let index = 0; index < 20_000; index++) await cache.get(empty, `made-up-${index}`);
    expect(bodyOf(cached(cache.get(full, "a")))).toBe("full");
    expect(cache.bytes).toBe(bytes);
    expect(cache.size).toBeWithin(2, 10_002);
    cached(cache.get(empty, "made-up-19999"));
    expect(cache.get(empty, "made-up-0")).toBeInstanceOf(Promise);
  });

  test("keeps fewer empty results if their names are long", async () => {
    const cache = new ResponseCache(megabyte, always);
    const empty = namespaceOf(() => ({ body: undefined, isEmpty: true }));
    for (let index = 0; index < 2000; index++) await cache.get(empty, `${index}${"x".repeat(15_000)}`);
    expect(cache.size).toBeWithin(500, 800);
  });

  test.each([
    ["an empty response", toBody("{}")],
    ["a missing object", undefined],
  ])("serves %s for 10 s, however often it is reloaded", async (_, body) => {
    let found = 0;
    const cache = new ResponseCache(megabyte, always);
    const namespace = namespaceOf(
      () => {
        found++;
        return { body, isEmpty: true };
      },
      { freshMs: 300_000 },
    );
    const expected = body && "{}";
    expect(bodyOf(await cache.get(namespace, "a"))).toBe(expected);
    for (let time = 1; time <= 4; time++) {
      expect(found).toBe(time);
      nowMs += 9_900;
      expect(bodyOf(cache.get(namespace, "a") as PreparedResponse | undefined)).toBe(expected);
      await turn();
      expect(found).toBe(time);
      nowMs += 200;
      expect(bodyOf((await cache.get(namespace, "a")) as PreparedResponse | undefined)).toBe(expected);
      await turn();
    }
  });

  test("moves a key between full and empty entries", async () => {
    const { namespace, last } = createNamespace({ freshMs: 20_000 });
    const cache = new ResponseCache(megabyte, always);
    const loading = cache.get(namespace, "a");
    await last().succeed("{}", { isEmpty: true });
    await loading;
    expect([cache.size, cache.bytes]).toEqual([1, 0]);
    nowMs += 10_001;
    // Empty results expire sooner.
    const again = cache.get(namespace, "a");
    await last().succeed("full");
    expect(bodyOf(await again)).toBe("full");
    expect(bodyOf(cached(cache.get(namespace, "a")))).toBe("full");
    expect([cache.size, cache.bytes > 0]).toEqual([1, true]);
    nowMs += 20_001;
    expect(bodyOf(cached(cache.get(namespace, "a")))).toBe("full");
    await last().succeed("{}", { isEmpty: true });
    expect(bodyOf(cached(cache.get(namespace, "a")))).toBe("{}");
    expect([cache.size, cache.bytes]).toEqual([1, 0]);
  });

  test("serves a response without an age while it is reloaded once in the background", async () => {
    const { namespace, loads, last, loadInto } = createNamespace();
    const cache = new ResponseCache(megabyte, always);
    await loadInto(cache, "old");
    nowMs += 999;
    cached(cache.get(namespace, "a"));
    expect(loads).toHaveLength(1);
    nowMs += 2501;
    for (let time = 0; time < 5; time++) {
      const old = cached(cache.get(namespace, "a"));
      expect([bodyOf(old), statusOf(old), ageOf(old)]).toEqual(["old", "pds; hit", null]);
    }
    expect(loads).toHaveLength(2);
    await last().succeed("new");
    const hit = cached(cache.get(namespace, "a"));
    expect([bodyOf(hit), statusOf(hit), ageOf(hit)]).toEqual(["new", "pds; hit", null]);
    expect(cache.counts).toMatchObject({ hits: 7, stale: 0, misses: 2 });
  });

  test("serves responses cached for hours without an age while invalidation works", async () => {
    let unverifiedMs = 0;
    const policy = parseCachePolicy("max-age=60, s-maxage=300, stale-if-error=86400");
    const { namespace, loads, last, loadInto } = createNamespace(invalidatedLifetime(policy));
    const cache = new ResponseCache(megabyte, () => nowMs - unverifiedMs);
    await loadInto(cache, "A");
    for (let hour = 1; hour <= 3; hour++) {
      nowMs += 3_600_000;
      const hit = cached(cache.get(namespace, "a"));
      expect([bodyOf(hit), statusOf(hit), ageOf(hit)]).toEqual(["A", "pds; hit", null]);
      expect(loads).toHaveLength(1 + hour);
      // A failed reload does not make it older, because no change was recorded.
      await last().fail("busy");
      expect(ageOf(cached(cache.get(namespace, "a")))).toBeNull();
    }
    // Its age starts when invalidation stops working.
    unverifiedMs = 90_000;
    expect(ageOf(cached(cache.get(namespace, "a")))).toBe("90");
    unverifiedMs = 0;
    expect(ageOf(cached(cache.get(namespace, "a")))).toBeNull();
  });

  test("counts the age of a response from the start of its load", async () => {
    const { namespace, last } = createNamespace({ freshMs: 300_000 });
    const cache = new ResponseCache(megabyte, () => nowMs - 5000);
    const first = cache.get(namespace, "a");
    nowMs += 2400;
    const joined = cache.get(namespace, "a");
    await last().succeed("A");
    expect([ageOf(await first), ageOf(await joined)]).toEqual(["2", "2"]);
    nowMs += 700;
    expect(ageOf(cached(cache.get(namespace, "a")))).toBe("3");
  });

  test("serves a missing object for 10 s while the store is unreachable, with its age", async () => {
    let unverifiedMs = 0;
    let isStoreReachable = true;
    const cache = new ResponseCache(megabyte, () => nowMs - unverifiedMs);
    const namespace = namespaceOf(
      () => {
        if (!isStoreReachable) throw new Error("unreachable");
        return { body: undefined, isEmpty: true };
      },
      { freshMs: 300_000, staleIfErrorMs: 86_400_000 },
    );
    expect(await cache.get(namespace, "a")).toBeUndefined();
    isStoreReachable = false;
    nowMs += 9000;
    unverifiedMs = 9000;
    expect(() => cache.get(namespace, "a")).toThrow(
      expect.objectContaining({ code: "not_found", ageS: 9 }) as unknown as Error,
    );
    nowMs += 2000;
    unverifiedMs = 11_000;
    await expect(Promise.resolve(cache.get(namespace, "a"))).rejects.toThrow("unreachable");
  });

  const polled = { isInvalidated: false, freshMs: 500, staleWhileRevalidateMs: 0 };
  test.each<[string, Partial<CacheNamespace>, number]>([
    ["an entry after its stale-while-revalidate time", {}, 11_000],
    ["a polled entry as soon as it is stale", polled, 499],
  ])("waits for the reload of %s", async (_, options, servedForMs) => {
    const { namespace, loads, last, loadInto } = createNamespace(options);
    const cache = new ResponseCache(megabyte, always);
    await loadInto(cache, "old");
    nowMs += servedForMs;
    cached(cache.get(namespace, "a"));
    nowMs += 2;
    const waiting = [cache.get(namespace, "a"), cache.get(namespace, "a")];
    expect(waiting).toEqual([expect.any(Promise), expect.any(Promise)]);
    expect(loads).toHaveLength(2);
    await last().succeed("new");
    const answers = await Promise.all(waiting);
    expect(answers.map(bodyOf)).toEqual(["new", "new"]);
    expect(statusOf(answers[0])).toBe("pds; fwd=stale; stored");
  });

  test("serves the stale response after a failed load until its stale-if-error time ends", async () => {
    const { namespace, loads, last, loadInto, expectFailure } = createNamespace({ isInvalidated: false });
    const cache = new ResponseCache(megabyte, always);
    await loadInto(cache, "old");

    nowMs += 2000;
    cached(cache.get(namespace, "a"));
    await last().fail("away");
    // The next load starts after a second at the earliest.
    for (let time = 0; time < 5; time++) cached(cache.get(namespace, "a"));
    expect(loads).toHaveLength(2);
    nowMs += 1001;
    cached(cache.get(namespace, "a"));
    expect(loads).toHaveLength(3);
    await last().fail("away");

    nowMs += 50_000;
    const late = cache.get(namespace, "a");
    expect(late).toBeInstanceOf(Promise);
    await last().fail("away");
    const answer = await late;
    expect([bodyOf(answer), ageOf(answer)]).toEqual(["old", "53"]);
    expect(statusOf(answer)).toBe("pds; hit; detail=stale-if-error");

    // 1 s fresh, 10 s while it is reloaded, 100 s while reloading fails.
    nowMs += 111_000 - 53_001;
    const latest = cache.get(namespace, "a");
    await last().fail("away");
    expect(bodyOf(await latest)).toBe("old");
    nowMs += 1;
    await expectFailure(cache, "still away");
    expect(cache.counts.failed).toBe(5);
  });

  test("passes a failure to all waiting requests, and loads again afterwards", async () => {
    const { namespace, loads, last } = createNamespace();
    const cache = new ResponseCache(megabyte, always);
    const waiting = [1, 2, 3].map(async () => cache.get(namespace, "a"));
    const settled = Promise.allSettled(waiting);
    await last().fail("away");
    expect((await settled).map((each) => each.status === "rejected" && each.reason.message)).toEqual(
      Array(3).fill("away"),
    );
    expect([cache.size, cache.bytes, cache.counts.failed]).toEqual([0, 0, 1]);
    const again = cache.get(namespace, "a");
    expect(loads).toHaveLength(2);
    await last().succeed("A");
    expect(bodyOf(await again)).toBe("A");
  });

  test("returns and stores a load that needs no promise without one", () => {
    const cache = new ResponseCache(megabyte, always);
    const { namespace } = createNamespace({ load: (key) => ({ body: toBody(key.toUpperCase()), isEmpty: false }) });
    for (let time = 0; time < 2; time++) expect(bodyOf(cached(cache.get(namespace, "a")))).toBe("A");
    expect(cache.counts).toMatchObject({ misses: 1, hits: 1, collapsed: 0, failed: 0 });
  });

  test("treats a load that throws synchronously as failed", async () => {
    const cache = new ResponseCache(megabyte, always);
    const { namespace } = createNamespace({
      load: () => {
        throw new Error("at once");
      },
    });
    for (let time = 0; time < 2; time++) expect((async () => cache.get(namespace, "a"))()).rejects.toThrow("at once");
    await turn();
    expect(cache.counts).toMatchObject({ misses: 2, collapsed: 0, failed: 2 });
  });

  test("does not store a load that started before an invalidation, and starts a new one", async () => {
    for (const invalidate of [
      (cache: ResponseCache) => cache.invalidate("thing", "a"),
      (cache: ResponseCache) => cache.invalidateMatching("thing", new Set([99])),
      (cache: ResponseCache) => cache.invalidateMatching("thing", undefined),
      (cache: ResponseCache) => cache.clear(),
    ]) {
      const { namespace, loads, at } = createNamespace();
      const cache = new ResponseCache(megabyte, always);
      const before = cache.get(namespace, "a");
      await invalidate(cache);
      const after = cache.get(namespace, "a");
      const alsoAfter = cache.get(namespace, "a");
      expect(loads).toHaveLength(2);
      await at(0).succeed("before");
      expect(bodyOf(await before)).toBe("before");
      // The end of the first load does not affect the second.
      const later = cache.get(namespace, "a");
      expect([later, loads.length]).toEqual([expect.any(Promise), 2]);
      await at(1).succeed("after");
      expect((await Promise.all([after, alsoAfter, later])).map(bodyOf)).toEqual(["after", "after", "after"]);
      expect(bodyOf(cached(cache.get(namespace, "a")))).toBe("after");
    }
  });

  test("invalidates exactly the entries that have a changed fingerprint", async () => {
    const cache = new ResponseCache(megabyte, always);
    const load = (name: string): CacheEntry => ({
      body: toBody(name),
      isEmpty: name.startsWith("empty"),
      fingerprints: (name.match(/\d+/g) ?? []).map(Number),
    });
    const namespace = namespaceOf(load);
    const other = namespaceOf(load, { name: "other" });
    const names = ["full-1", "full-1-2", "full-2-3", "full-3", "full", "empty-1", "empty-2", "empty-3"];
    const kept = (of = namespace) => names.filter((name) => cache.get(of, name) instanceof PreparedResponse);
    await fill(cache, namespace, ...names);
    await fill(cache, other, ...names);
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

  test("yields to the event loop while it invalidates many entries", async () => {
    const cache = new ResponseCache(64 * megabyte, always);
    const namespace = namespaceOf(() => ({ body: toBody("x"), isEmpty: false, fingerprints: [1] }));
    for (let index = 0; index < 12_000; index++) await cache.get(namespace, `${index}`);
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      for (; !isOver; turns++) await turn();
    })();
    const invalidating = cache.invalidateMatching("thing", new Set([1]));
    // Loaded after the change, so it stays.
    const anew = await cache.get(namespace, "0");
    expect(anew?.body).toBeInstanceOf(ResponseBody);
    // Invalidated and loaded again before its turn, so it stays, too.
    cache.invalidate("thing", "11999");
    await cache.get(namespace, "11999");
    await invalidating;
    isOver = true;
    await counting;
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(cache.size).toBe(2);
    cached(cache.get(namespace, "0"));
    cached(cache.get(namespace, "11999"));
  });

  test("keeps a body and its compressed forms if its entity tag is unchanged", async () => {
    const { namespace, last } = createNamespace();
    const cache = new ResponseCache(megabyte, always);
    const text = "the same ".repeat(500);
    const loading = cache.get(namespace, "a");
    await last().succeed(text);
    const first = (await loading)?.body;
    const compressed = await first?.encode("gzip", compressionLoad);
    nowMs += 1500;
    cached(cache.get(namespace, "a"));
    await last().succeed(text);
    const hit = cached(cache.get(namespace, "a"));
    expect(statusOf(hit)).toBe("pds; hit");
    expect(hit.body).toBe(first as ResponseBody);
    expect(hit.body.encode("gzip", compressionLoad)).toBe(compressed as SendableBody);
    nowMs += 999;
    expect(statusOf(cached(cache.get(namespace, "a")))).toBe("pds; hit");
  });

  test("serves cached responses with their age, up to a limit, while invalidation does not work", async () => {
    let unverifiedMs = 0;
    const { namespace, loads, loadInto, expectFailure } = createNamespace({ freshMs: 300_000 });
    const cache = new ResponseCache(megabyte, () => nowMs - unverifiedMs);
    await loadInto(cache, "A");
    const lose = (ms: number) => {
      nowMs += ms - unverifiedMs;
      unverifiedMs = ms;
    };
    lose(2500);
    const answer = cached(cache.get(namespace, "a"));
    expect([bodyOf(answer), ageOf(answer)]).toEqual(["A", "2"]);
    expect(statusOf(answer)).toBe("pds; hit; detail=unverified");
    lose(100_000);
    cached(cache.get(namespace, "a"));
    expect(loads).toHaveLength(1);
    lose(100_001);
    await expectFailure(cache, "lost");
    unverifiedMs = 0;
    expect(statusOf(cached(cache.get(namespace, "a")))).toBe("pds; hit");
  });

  test("computes the age of polled entries from their load", async () => {
    let unverifiedMs = 0;
    const { namespace, loadInto, expectFailure } = createNamespace({
      isInvalidated: false,
      freshMs: 500,
      staleWhileRevalidateMs: 0,
      staleIfErrorMs: 5000,
    });
    const cache = new ResponseCache(megabyte, () => nowMs - unverifiedMs);
    await loadInto(cache, "A");
    nowMs += 4500;
    unverifiedMs = 2000;
    expect(ageOf(cached(cache.get(namespace, "a")))).toBe("4");
    nowMs += 60_000;
    await expectFailure(cache, "lost");
  });

  const names = ["a", "b", "c", "d"];
  const anyName = fc.constantFrom(...names);
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ is: fc.constant("ask" as const), name: anyName }) },
    { weight: 3, arbitrary: fc.record({ is: fc.constant("change" as const), name: anyName }) },
    { weight: 2, arbitrary: fc.record({ is: fc.constant("invalidate" as const), name: anyName }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant("invalidateSome" as const), names: fc.subarray(names) }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant("invalidateAll" as const), clears: fc.boolean() }) },
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

  test("never serves data that is older than the last invalidation before the request", async () => {
    let statuses = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), fc.boolean(), async (steps, isNarrow) => {
        const state = new Map(names.map((name) => [name, 0]));
        /** The state of each key at its last invalidation. */
        const floors = new Map(state);
        /** Loads whose results may be stored: at most one per key. */
        const current = new Map<string, object>();
        const pending: { end: (fails: boolean) => void }[] = [];
        const waiting: Promise<unknown>[] = [];
        let unverifiedMs = 0;
        // A narrow cache has room for two of the four keys.
        const cache = new ResponseCache(isNarrow ? 2 * 2100 : megabyte, () => nowMs - unverifiedMs);
        const namespace: CacheNamespace = {
          name: "thing",
          isInvalidated: true,
          freshMs: 1000,
          staleWhileRevalidateMs: 10_000,
          staleIfErrorMs: 100_000,
          load: (name) => {
            expect([name, current.has(name)]).toEqual([name, false]);
            const read = state.get(name) ?? 0;
            const { promise, resolve, reject } = Promise.withResolvers<CacheEntry>();
            const load = {
              end: (fails: boolean) => {
                if (current.get(name) === load) current.delete(name);
                pending.splice(pending.indexOf(load), 1);
                if (fails) return reject(new Error("away"));
                // Every third state is empty.
                const isEmpty = read % 3 === 0;
                resolve({ body: toBody(`${read}`), isEmpty, fingerprints: [names.indexOf(name)] });
              },
            };
            current.set(name, load);
            pending.push(load);
            return promise;
          },
        };
        const invalidated = (name: string) => {
          floors.set(name, state.get(name) ?? 0);
          current.delete(name);
        };
        for (const each of steps) {
          if (each.is === "ask") {
            const floor = floors.get(each.name) ?? 0;
            const judge = (answer: PreparedResponse | undefined) => {
              statuses = statuses.add(statusOf(answer) ?? "");
              expect(Number(bodyOf(answer))).toBeGreaterThanOrEqual(floor);
            };
            const answer = cache.get(namespace, each.name);
            if (!(answer instanceof Promise)) judge(answer);
            else
              waiting.push(
                answer.then(judge, (error) => {
                  if (error.message !== "away") throw error;
                }),
              );
          } else if (each.is === "change") state.set(each.name, (state.get(each.name) ?? 0) + 1);
          else if (each.is === "invalidate") {
            cache.invalidate("thing", each.name);
            invalidated(each.name);
          } else if (each.is === "invalidateSome") {
            // Discards all pending loads.
            const invalidating = cache.invalidateMatching(
              "thing",
              new Set(each.names.map((name) => names.indexOf(name))),
            );
            current.clear();
            await invalidating;
            for (const name of each.names) invalidated(name);
          } else if (each.is === "invalidateAll") {
            if (each.clears) cache.clear();
            else await cache.invalidateMatching("thing", undefined);
            for (const name of names) invalidated(name);
          } else if (each.is === "end") {
            pending[each.which % Math.max(1, pending.length)]?.end(each.fails === 0);
            for (let microtask = 0; microtask < 5; microtask++) await Promise.resolve();
          } else if (each.is === "pass") nowMs += each.ms;
          else if (each.is === "lose") unverifiedMs = each.ms;
          expect(cache.bytes).toBeLessThanOrEqual(isNarrow ? 2 * 2100 : megabyte);
        }
        for (const load of [...pending]) load.end(false);
        await Promise.all(waiting);
        expect(pending).toEqual([]);
      }),
      { numRuns: 2000 },
    );
    // All common cases occurred; discarded loads are rare.
    const often = ["fwd=miss; stored", "fwd=stale; stored", "hit"];
    const seldom = ["fwd=miss", "fwd=stale", "hit; detail=stale-if-error", "hit; detail=unverified"];
    expect([...statuses]).toEqual(expect.arrayContaining(often.map((status) => `pds; ${status}`)));
    expect([...often, ...seldom].map((status) => `pds; ${status}`)).toEqual(expect.arrayContaining([...statuses]));
  });
});
