import { afterEach, describe, expect, test } from "bun:test";
import { toJson } from "../../src/base/json.ts";
import { parseCachePolicy } from "../../src/cache/policy.ts";
import { fingerprintTag } from "../../src/cdn/headers.ts";
import { fingerprintOf } from "../../src/personalization/fingerprint.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  createStore,
  type Engine,
  enginesOf,
  pds,
  type RunningService,
  serve,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { until, untilEqual } from "../support/until.ts";
import { Wire } from "../support/wire.ts";

const paths = {
  product: "/api/v1/products/7",
  personalization: "/api/v1/products/pz/MUG",
  unknownSku: "/api/v1/products/pz/NOPE",
  histories: "/api/v1/histories",
  ordered: "/api/v1/histories/asc",
};
const documents = ["/openapi.json", "/docs", "/docs/style.css", "/docs/script.js"];
const conditional = [...Object.values(paths), ...documents];
const longPolicy = "public, max-age=60, s-maxage=300, stale-while-revalidate=600, stale-if-error=86400";

const folder = await temporaryFolder();
const [products = "", changedProducts = ""] = await writeFiles(folder, {
  "products.ndjson": [toProduct(6), toProduct(7), toProduct(8)].map(toJson).join("\n"),
  "changed.ndjson": [toProduct(6), toProduct(7, { title: "Another plate" }), toProduct(8)].map(toJson).join("\n"),
});
const ownFeedFiles = { ...feedFiles, "pzlines.csv": `${feedFiles["pzlines.csv"]}ONCE,NOTE,1,A\n` };
const feed = await writeFeed(folder, "feed", ownFeedFiles);
const changedFeed = await writeFeed(folder, "changed", {
  ...ownFeedFiles,
  "pzchoices.csv": feedFiles["pzchoices.csv"].replace("Serif", "Slab"),
});

async function importAll(environment: Record<string, string>, of: readonly [string, string]): Promise<void> {
  for (const [index, noun] of ["products", "personalization"].entries()) {
    expect((await importHere(["import", noun, of[index] ?? ""], environment)).code).toBe(0);
  }
}

const headersOf = async (service: RunningService, path: string, headers: Record<string, string> = {}) =>
  (await service.get(path, { headers })).headers;

const unverified = "; detail=unverified";
/** `Cache-Status` of a response, also of one that a stall of the machine kept from being verified in time. */
const cacheStatusOf = (headers: Headers) => headers.get("cache-status")?.replace(unverified, "");

/** The headers of a response that was verified in time: a stall of the machine is no fault of the cache. */
async function verifiedHeadersOf(service: RunningService, path: string): Promise<Headers> {
  let headers = new Headers();
  const isVerified = async () => {
    headers = await headersOf(service, path);
    return headers.get("cache-status")?.includes(unverified) !== true;
  };
  await until("the response is verified", isVerified);
  return headers;
}

const hashTag = async (service: RunningService, path: string) => (await headersOf(service, path)).get("etag") ?? "";

/** The status line and the header fields as they are sent. */
async function readHead({ url }: RunningService, path: string, encoding: string): Promise<string> {
  const wire = await Wire.open(url);
  wire.write(`GET ${path} HTTP/1.1\r\nHost: ${new URL(url).hostname}\r\nAccept-Encoding: ${encoding}\r\n\r\n`);
  await wire.receive((bytes) => bytes.includes("\r\n\r\n"));
  expect(wire.isClosed).toBeFalse();
  wire.end();
  return wire.bytes.toString("latin1").split("\r\n\r\n")[0] ?? "";
}

/** Any page may read a response, but no browser may execute it. */
function expectCommon(response: Response): void {
  const { headers } = response;
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(headers.get("access-control-expose-headers")).toBe("*");
  if (headers.has("content-type")) expectNotExecutable(response);
}

/** @param hasPolicy the admin listener has one for everything, the public listener for pages */
function expectNotExecutable({ headers }: Response, hasPolicy?: boolean): void {
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  const isExpected = hasPolicy ?? headers.get("content-type")?.startsWith("text/html") === true;
  expect(headers.has("content-security-policy")).toBe(isExpected);
  if (isExpected)
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
}

async function worldOn(engine: Engine) {
  const environment = { DATABASE_URL: await createStore(engine), SHOP_DOMAIN: "shop.example", BRAND: "acme" };
  await importAll(environment, [products, feed]);
  const [service, replica, otherShop, uncached] = (await Promise.all(
    [
      environment,
      { ...environment, SERVER_TIMING: "on", CDN: "cloudflare" },
      {
        ...environment,
        SHOP_DOMAIN: "other.example",
        CDN: "fastly",
        CACHE_PRODUCTS: "max-age=1",
        CACHE_PERSONALIZATION: "s-maxage=30, max-age=2",
        CACHE_HISTORIES: "no-store",
        CACHE_NOT_FOUND: "no-store",
      },
      { ...environment, MEMORY_MEGABYTES: "0", SERVER_TIMING: "on", CDN: "varnish" },
    ].map((each) => serveUntilEnd(each)),
  )) as [RunningService, RunningService, RunningService, RunningService];
  return { environment, service, replica, otherShop, uncached };
}

for (const engine of enginesOf("sqlite")) {
  const { environment, service, replica, otherShop, uncached } = await worldOn(engine);

  describe(`on ${engine}, an entity tag`, () => {
    test.each(conditional)("of %s is weak, and the same for every encoding and method", async (path) => {
      const tag = await hashTag(service, path);
      expect(tag).toMatch(/^W\/"[\w.+/=-]{8,}"$/);
      for (const coding of ["identity", "br", "zstd", "gzip"]) {
        expect((await headersOf(service, path, { "Accept-Encoding": coding })).get("etag")).toBe(tag);
      }
      expect((await service.get(path, { method: "HEAD" })).headers.get("etag")).toBe(tag);
    });

    test("is the same on another replica, without a cache, and after a restart", async () => {
      await using restarted = await serve(environment);
      for (const path of conditional) {
        const tag = await hashTag(service, path);
        for (const other of [replica, uncached, restarted]) expect(await hashTag(other, path)).toBe(tag);
      }
    });

    test("of a product depends on the shop; others do not", async () => {
      expect(await hashTag(otherShop, paths.product)).not.toBe(await hashTag(service, paths.product));
      for (const path of [paths.personalization, paths.unknownSku, paths.histories]) {
        expect(await hashTag(otherShop, path)).toBe(await hashTag(service, path));
      }
    });

    test("differs between bodies", async () => {
      const several = [...Object.values(paths), "/api/v1/products/8"];
      expect(new Set(await Promise.all(several.map((path) => hashTag(service, path)))).size).toBe(several.length);
    });
  });

  describe(`on ${engine}, a conditional request`, () => {
    const cases: [about: string, toNames: (opaque: string) => string, status: number][] = [
      ["the tag as it was sent", (opaque) => `W/"${opaque}"`, 304],
      ["the tag as if it were strong", (opaque) => `"${opaque}"`, 304],
      ["a list with the tag at its end", (opaque) => `"a", W/"b",W/"${opaque}"`, 304],
      ["a list with the tag at its beginning, and spaces", (opaque) => `W/"${opaque}"  ,   "z"`, 304],
      ["a list with a comma within a tag", (opaque) => `"a,b", W/"${opaque}"`, 304],
      ["anything", () => "*", 304],
      ["another tag", () => 'W/"other"', 200],
      ["another list", () => '"a", "b", W/"c"', 200],
      ["a part of the tag", (opaque) => `W/"${opaque.slice(1)}"`, 200],
      ["more than the tag", (opaque) => `W/"${opaque}x"`, 200],
      ["the tag in another case", (opaque) => `W/"${opaque.toUpperCase()}a"`, 200],
      ["the tag within another", (opaque) => `"a, ${opaque}"`, 200],
      ["the tag without quotes", (opaque) => opaque, 200],
      ["the tag without the second quote", (opaque) => `"${opaque}`, 200],
      ["an empty tag", () => '""', 200],
      ["nothing", () => "", 200],
      ["commas", () => ",,,", 200],
    ];
    test.each(cases)("naming %s", async (_, toNames, status) => {
      for (const path of [paths.product, paths.personalization, "/docs"]) {
        const opaque = (await hashTag(service, path)).slice(3, -1);
        for (const method of ["GET", "HEAD"]) {
          const headers = { "If-None-Match": toNames(opaque) };
          const response = await service.get(path, { method, headers });
          expect([path, method, response.status]).toEqual([path, method, status]);
          expect((await response.text()) === "").toBe(status === 304 || method === "HEAD");
        }
      }
    });

    test.each(["/nowhere", "/api/v1/products/9", "/api/v1/products/x", "/api/v1/products/%zz", "/livez"])(
      "to %s, which has no tag, is handled as unconditional",
      async (path) => {
        const { status, headers } = await service.get(path, { headers: { "If-None-Match": "*" } });
        expect(status).toBe((await service.get(path)).status);
        expect(headers.has("etag")).toBeFalse();
      },
    );

    test.each(["product", "personalization", "histories"] as const)(
      "for an unchanged %s returns only the headers that a cache needs",
      async (name) => {
        const full = await service.get(paths[name]);
        await full.text();
        const headers = { "If-None-Match": full.headers.get("etag") ?? "" };
        const response = await service.get(paths[name], { headers: { ...headers, "Accept-Encoding": "gzip" } });
        expect(response.status).toBe(304);
        expect([...response.headers.keys()].toSorted()).toEqual([
          "access-control-allow-origin",
          "access-control-expose-headers",
          "cache-control",
          "date",
          "etag",
          "vary",
        ]);
        for (const field of ["etag", "cache-control", "vary"]) {
          expect(response.headers.get(field)).toBe(full.headers.get(field));
        }
        expectCommon(response);
      },
    );

    test("gets the fields for a CDN again", async () => {
      for (const [of, fields] of [
        [replica, ["cloudflare-cdn-cache-control", "cache-tag", "cache-status"]],
        [otherShop, ["surrogate-control", "surrogate-key"]],
        [uncached, ["surrogate-control", "xkey"]],
      ] as const) {
        const full = await headersOf(of, paths.product);
        const { status, headers } = await of.get(paths.product, { headers: { "If-None-Match": "*" } });
        expect(status).toBe(304);
        for (const field of fields) {
          expect([field, headers.has(field)]).toEqual([field, true]);
          if (field !== "cache-status") expect([field, headers.get(field)]).toEqual([field, full.get(field)]);
        }
      }
    });
  });

  describe(`on ${engine}, Cache-Status`, () => {
    test("is a miss first, then a hit, without an age", async () => {
      // No other test requests these.
      for (const path of ["/api/v1/products/6", "/api/v1/products/pz/ONCE", "/api/v1/products/pz/first"]) {
        // Each replica has its own cache.
        await service.get(path);
        const [first, second, third] = [
          await headersOf(replica, `${path}?`),
          await verifiedHeadersOf(replica, path),
          await verifiedHeadersOf(replica, path),
        ];
        expect(first.get("cache-status")).toBe("pds; fwd=miss; stored");
        expect([second.get("cache-status"), third.get("cache-status")]).toEqual(["pds; hit", "pds; hit"]);
        for (const headers of [first, second, third]) expect(headers.has("age")).toBeFalse();
        expect((await headersOf(service, path)).has("cache-status")).toBeFalse();
      }
    });

    test("is a bypass on every request if the cache is disabled", async () => {
      for (const path of [paths.product, paths.personalization, paths.product, paths.histories, paths.histories]) {
        expect((await headersOf(uncached, path)).get("cache-status")).toBe("pds; fwd=bypass");
      }
    });

    test("does not mix concurrent requests: each has its own reference", async () => {
      const path = "/api/v1/products/pz/at-once";
      const seen = await Promise.all(
        Array.from({ length: 50 }, async () => (await headersOf(uncached, path)).get("x-request-id")),
      );
      expect(new Set(seen).size).toBe(50);
    });

    test("has a request reference only beside a response that was read", async () => {
      const path = "/api/v1/products/pz/referred";
      const seen: [string | null, boolean][] = [];
      for (const init of [{ method: "HEAD" }, {}, { headers: { "If-None-Match": "*" } }, { method: "OPTIONS" }]) {
        const { headers } = await replica.get(path, init);
        seen.push([headers.get("cache-status"), headers.has("x-request-id")]);
      }
      expect(seen).toEqual([
        ["pds; fwd=miss; stored", true],
        ["pds; hit", false],
        ["pds; hit", false],
        [null, false],
      ]);
      const again = await uncached.get(path, { headers: { "If-None-Match": "*" } });
      expect([again.status, again.headers.has("x-request-id")]).toEqual([304, true]);
    });
  });

  describe(`on ${engine}, a change`, () => {
    // Tests that run later compare the services.
    afterEach(() =>
      until("all services have the changes", async () => {
        const tagsOf = (of: RunningService) =>
          Promise.all([paths.product, paths.personalization, paths.histories].map((path) => hashTag(of, path)));
        const [stored = [], ...served] = await Promise.all([uncached, service, replica].map(tagsOf));
        const [, ...ofOther] = await tagsOf(otherShop);
        return Bun.deepEquals([...served, ofOther], [stored, stored, stored.slice(1)]);
      }),
    );

    test("changes the entity tag of exactly the changed responses", async () => {
      const [other, otherSku] = ["/api/v1/products/8", "/api/v1/products/pz/A%2FB%20%C3%A9%2B"];
      const of = [paths.product, paths.personalization, other, otherSku, paths.unknownSku];
      /** `Cache-Status` of the responses that stay the same. */
      const others = new Set<string | undefined>();
      const read = async () => {
        const headers = await Promise.all(of.map((path) => headersOf(replica, path)));
        for (const each of headers.slice(2, 4)) others.add(cacheStatusOf(each));
        return headers.map((each) => each.get("etag"));
      };
      const before = await read();
      others.clear();
      // Importing the same data again changes nothing.
      await importAll(environment, [products, feed]);
      await Bun.sleep(500);
      expect(await read()).toEqual(before);

      await importAll(environment, [changedProducts, changedFeed]);
      const isChanged = async () => (await read()).map((tag, index) => tag !== before[index]);
      await untilEqual(isChanged, [true, true, false, false, false]);
      // Unchanged responses stay cached.
      expect([...others]).toEqual(["pds; hit"]);
      const stale = await replica.get(paths.product, { headers: { "If-None-Match": before[0] ?? "" } });
      expect(stale.status).toBe(200);
      expect(await stale.text()).toContain('"Another plate"');
      expect(await (await replica.get(paths.personalization)).text()).toContain('"Slab"');

      await importAll(environment, [products, feed]);
      await untilEqual(read, before);
    });
  });

  // The rest does not depend on the engine.
  if (engine === "postgres") continue;

  describe("the cache policy", () => {
    const short = "public, max-age=10, s-maxage=10";
    test.each([
      ["/api/v1/products/7", 200, longPolicy],
      ["/api/v1/products/pz/MUG", 200, longPolicy],
      ["/api/v1/products/pz/NOPE", 200, short],
      ["/api/v1/histories", 200, "public, max-age=5, s-maxage=5, stale-if-error=86400"],
      ["/api/v1/histories/asc", 200, "public, max-age=5, s-maxage=5, stale-if-error=86400"],
      ["/api/v1/products/9", 404, short],
      ["/nowhere", 404, short],
      ["/api/v1/products/x", 400, short],
      ["/api/v1/products/%zz", 400, short],
      ["/api/v1/histories/up", 400, short],
      ["/openapi.json", 200, "public, max-age=300"],
      ["/docs", 200, "public, max-age=300"],
      ["/livez", 200, "no-store"],
      ["/readyz", 200, "no-store"],
    ])("of %s with status %i is as documented, and every page may read it", async (path, status, expected) => {
      // Loaded and cached responses have the same.
      for (let time = 0; time < 2; time++) {
        const response = await service.get(path);
        expect(response.status).toBe(status);
        expect(response.headers.get("cache-control")).toBe(expected);
        expectCommon(response);
      }
    });

    test("for a CDN has a header of its own", async () => {
      const long = "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400";
      const readReplica = async (path: string) => (await headersOf(replica, path)).get("cloudflare-cdn-cache-control");
      expect(await readReplica(paths.product)).toBe(long);
      expect(await readReplica(paths.personalization)).toBe(long);
      expect(await readReplica(paths.histories)).toBe("public, max-age=5, stale-if-error=86400");
      expect(await readReplica("/nowhere")).toBe("public, max-age=10");
      const readOther = async (path: string) => (await headersOf(otherShop, path)).get("surrogate-control");
      expect(await readOther(paths.product)).toBe("public, max-age=1");
      expect(await readOther(paths.personalization)).toBe("public, max-age=30");
      expect(await readOther(paths.histories)).toBe("no-store, max-age=0");
      expect(await readOther("/nowhere")).toBe("no-store, max-age=0");
    });

    test("follows the settings", async () => {
      const read = async (path: string) => (await headersOf(otherShop, path)).get("cache-control");
      expect(await read(paths.product)).toBe("public, max-age=1");
      expect(await read(paths.personalization)).toBe("public, max-age=2, s-maxage=30");
      expect(await read(paths.histories)).toBe("no-store");
      for (const path of ["/nowhere", "/api/v1/products/9", "/api/v1/products/x"]) {
        expect(await read(path)).toBe("no-store");
      }
    });

    test("of a method that is not allowed is no-store", async () => {
      for (const path of [...Object.values(paths), "/nowhere", "/livez"]) {
        const { status, headers } = await service.get(path, { method: "DELETE" });
        expect([status, headers.get("cache-control")]).toEqual([405, "no-store"]);
      }
    });

    test.each([
      ["no-store", "no-store", "no-store, max-age=0", 0],
      [" no-store ", "no-store", "no-store, max-age=0", 0],
      ["max-age=0", "public, max-age=0", "public, max-age=0", 0],
      ["s-maxage=9", "public, s-maxage=9", "public, max-age=9", 0],
      ["stale-if-error=7,max-age=1", "public, max-age=1, stale-if-error=7", "public, max-age=1, stale-if-error=7", 7],
      ["max-age=31536000", "public, max-age=31536000", "public, max-age=31536000", 0],
    ])("is parsed from %j", (text, cacheControl, cdnCacheControl, staleIfErrorS) => {
      expect(parseCachePolicy(text)).toEqual({ cacheControl, cdnCacheControl, staleIfErrorS });
    });

    const wrong = [
      ...["", "max-age", "max-age=", "max-age=x", "max-age=-1", "max-age=1.5", "max-age=31536001", "MAX-AGE=1"],
      ...["max-age=1, max-age=1", "max-age=1,", "max-age=1; s-maxage=2", "private", "no-store, max-age=1", "public"],
      ...["max-age=1\r\nX: y", "constructor=1", "max-age = 1"],
    ];
    test.each(wrong)("cannot be %j", (text) => {
      expect(() => parseCachePolicy(text)).toThrow(/^expected no-store, or each at most once max-age=SECONDS, /);
    });

    test("stops the start and names the setting if it is invalid", async () => {
      const names = ["CACHE_PERSONALIZATION", "CACHE_PRODUCTS", "CACHE_HISTORIES", "CACHE_NOT_FOUND"];
      const refusals = await Promise.all(names.map((name) => pds(["config"], { [name]: "max-age=soon" })));
      for (const [index, { code, stderr }] of refusals.entries()) {
        expect(code).toBe(2);
        expect(stderr).toContain(`${names[index]}: expected no-store, or each at most once max-age=SECONDS`);
        expect(stderr).toContain('not "max-age=soon"');
      }
    });
  });

  describe("purge tags", () => {
    const tagOf = (name: string) => fingerprintTag(fingerprintOf(name));
    const tagsOf = (sku: string, ...names: readonly string[]) => [
      "personalization",
      `personalization-${encodeURIComponent(sku).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)}`,
      ...[sku, ...names].map(tagOf),
    ];
    const longest = "x".repeat(1024 - "personalization-".length);
    const lengthOf = (sku: string) => tagsOf(sku).join(" ").length;
    // The tag of a fingerprint has ten or eleven characters more.
    const limit = ["x".repeat(7940), "x".repeat(7941), "x".repeat(7942), "x".repeat(7955)].findLast(
      (sku) => lengthOf(sku) <= 8000,
    ) as string;
    test.each([
      [paths.product, ["product", "product-7"]],
      [paths.histories, ["histories"]],
      [paths.ordered, ["histories"]],
      ["/api/v1/products/9", ["product", "product-9"]],
      ["/api/v1/products/x", []],
      ["/api/v1/products/handle/plate-7", ["product", "product-7", "product-handle%3Aplate-7"]],
      ["/api/v1/products/handle/none%2F", ["product", "product-handle%3Anone%2F"]],
      ["/api/v1/products/pz", []],
      [
        "/api/v1/products/pz?sku=MUG&sku=NOPE",
        [
          ...["personalization", "personalization-MUG", "personalization-NOPE"],
          ...["MUG", "BLOCK", "SCRIPT", "FONT", "MOTIF", "NOPE"].map(tagOf),
        ],
      ],
      [paths.personalization, tagsOf("MUG", "BLOCK", "SCRIPT", "FONT", "MOTIF")],
      [paths.unknownSku, tagsOf("NOPE")],
      ["/api/v1/products/pz/a%20b%2Cc", tagsOf("a b,c")],
      ["/api/v1/products/pz/A%2FB%20%C3%A9%2B", tagsOf("A/B é+", "NOTE", "TEXT")],
      ["/api/v1/products/pz/%F0%9F%98%80%0D%0A%00", tagsOf("😀\r\n\0")],
      ["/api/v1/products/pz/A(1)*!'-._~", tagsOf("A(1)*!'-._~")],
      [`/api/v1/products/pz/${longest}`, tagsOf(longest)],
    ])("name the operation, the key, and what a change names in the CDN's own header: %s", async (path, tags) => {
      const [plain, cloudflare, fastly, varnish] = await Promise.all(
        [service, replica, otherShop, uncached].map((of) => headersOf(of, path)),
      );
      if (tags.length > 0) {
        expect(cloudflare?.get("cache-tag")).toBe(tags.join(","));
        expect(fastly?.get("surrogate-key")).toBe(tags.join(" "));
        expect(varnish?.get("xkey")).toBe(tags.join(" "));
      }
      const tagged = [plain, cloudflare, fastly, varnish].map((headers) =>
        ["cache-tag", "surrogate-key", "xkey"].filter((name) => headers?.has(name)),
      );
      expect(tagged).toEqual(tags.length === 0 ? [[], [], [], []] : [[], ["cache-tag"], ["surrogate-key"], ["xkey"]]);
    });

    test("that exceed the CDN's limits keep the response out of that CDN, but not out of browsers", async () => {
      const cases = [
        [replica, "cloudflare-cdn-cache-control", "cache-tag", `${longest}x`],
        [replica, "cloudflare-cdn-cache-control", "cache-tag", "%C3%A9".repeat(200)],
        [otherShop, "surrogate-control", "surrogate-key", `${longest}x`],
        [uncached, "surrogate-control", "xkey", `${limit}${"x".repeat(60)}`],
      ] as const;
      for (const [of, cacheField, tagField, sku] of cases) {
        const headers = await headersOf(of, `/api/v1/products/pz/${sku}`);
        expect(headers.get(cacheField)).toBe("no-store, max-age=0");
        expect(headers.has(tagField)).toBeFalse();
        // An unknown SKU, which follows CACHE_NOT_FOUND.
        expect(headers.get("cache-control")).toBe(of === otherShop ? "no-store" : "public, max-age=10, s-maxage=10");
        // Other responses are not affected.
        const next = await headersOf(of, paths.personalization);
        expect(next.get(cacheField)).toStartWith("public, ");
        expect(next.has(tagField)).toBeTrue();
      }
      expect((await headersOf(uncached, `/api/v1/products/pz/${limit}`)).has("xkey")).toBeTrue();
      const headers = await headersOf(replica, `/api/v1/products/handle/${"%C3%A9".repeat(255)}`);
      expect(headers.get("cloudflare-cdn-cache-control")).toBe("no-store, max-age=0");
      expect([headers.has("cache-tag"), headers.get("cache-control")]).toEqual([
        false,
        "public, max-age=10, s-maxage=10",
      ]);
    });
  });

  describe("the headers of a compressed response", () => {
    test("are few, and take at most 420 bytes", async () => {
      const head = await readHead(service, paths.product, "gzip");
      const [statusLine, ...fields] = head.split("\r\n");
      expect(statusLine).toBe("HTTP/1.1 200 OK");
      expect(fields.map((field) => field.split(":")[0]).toSorted()).toEqual([
        "Access-Control-Allow-Origin",
        "Access-Control-Expose-Headers",
        "Cache-Control",
        "Content-Encoding",
        "Content-Length",
        "Content-Type",
        "Date",
        "ETag",
        "Vary",
        "X-Content-Type-Options",
      ]);
      expect(`${head}\r\n\r\n`.length).toBeLessThanOrEqual(420);
    });
  });

  describe("every response", () => {
    test.each<[string, RequestInit, number]>([
      ["/docs/style.css", {}, 200],
      ["/docs/script.js", {}, 200],
      [paths.product, { headers: { "If-None-Match": "*" } }, 304],
      [paths.product, { method: "HEAD" }, 200],
      [paths.product, { method: "POST" }, 405],
    ])("%s %o with %i may be read by every page, and is never executed", async (path, init, status) => {
      const response = await service.get(path, init);
      expect(response.status).toBe(status);
      expectCommon(response);
    });

    test("of the admin listener is never executed either", async () => {
      await using guarded = await serve({ ...environment, ADMIN_TOKEN: "correct-horse-battery" });
      for (const [path, status] of [
        ["/livez", 200],
        ["/readyz", 200],
        ["/metrics", 401],
        ["/", 401],
      ] as const) {
        const response = await fetch(`${guarded.adminUrl}${path}`);
        expect(response.status).toBe(status);
        expect(response.headers.get("cache-control")).toBe("private, no-store");
        expectNotExecutable(response, true);
      }
      const metrics = await fetch(`${service.adminUrl}/metrics`);
      expect([metrics.status, metrics.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
      expectNotExecutable(metrics, true);
    });

    test("may be requested by every page with any request header", async () => {
      for (const path of [...conditional, "/nowhere"]) {
        const headers = { Origin: "https://shop.example", "Access-Control-Request-Headers": "if-none-match" };
        const { status, headers: got } = await service.get(path, { method: "OPTIONS", headers });
        expect(status).toBe(204);
        expect(got.get("access-control-allow-origin")).toBe("*");
        expect(got.get("access-control-allow-methods")).toBe("GET, HEAD, OPTIONS");
        expect((got.get("access-control-allow-headers") ?? "").split(", ")).toContain("*");
        expect(Number(got.get("access-control-max-age"))).toBeGreaterThan(0);
      }
    });
  });
}

test("a response that is reloaded in the background is a normal hit without an age", async () => {
  const environment = {
    DATABASE_URL: await createStore("sqlite"),
    BRAND: "acme",
    PRODUCT_MAX_AGE: "1",
    SERVER_TIMING: "on",
  };
  await importAll(environment, [products, feed]);
  await using service = await serve(environment);
  const loads = async () => {
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
    return Number(metrics.match(/^pds_cache_responses_total{result="miss"} (\d+)/m)?.[1]);
  };
  await (await service.get(paths.product)).text();
  const before = await loads();
  const seen = new Set<string>();
  const isLoadedTwice = async () => {
    for (let time = 0; time < 10; time++) {
      const headers = await verifiedHeadersOf(service, paths.product);
      seen.add(`${headers.get("cache-status")}, age ${headers.get("age")}`);
    }
    return (await loads()) >= before + 2;
  };
  await until("it is reloaded twice", isLoadedTwice);
  expect([...seen]).toEqual(["pds; hit, age null"]);
});

describe("while the store is unreachable", async () => {
  const { url, drop } = await createPostgresDatabase();
  const environment = {
    DATABASE_URL: url,
    BRAND: "acme",
    CACHE_PRODUCTS: "max-age=60",
    SERVER_TIMING: "on",
    CDN: "generic",
  };
  await importAll(environment, [products, feed]);
  const service = await serveUntilEnd(environment);
  const get = async (path: string) => {
    const response = await service.get(path);
    return { status: response.status, headers: response.headers, body: await response.text(), response };
  };

  test("cached responses are served with their age up to a limit; other requests fail", async () => {
    await get(paths.histories);
    expect((await get(paths.product)).status).toBe(200);
    const verifiedAt = performance.now();
    let before = await get(paths.personalization);
    // Without an age, it was verified less than a second ago.
    await until("the response has no age", async () => {
      before = await get(paths.personalization);
      return !before.headers.has("age");
    });
    await drop();
    const lostAt = performance.now();
    const readiness = async () => (await get("/readyz")).body;
    await until("the failure is detected", async () => (await readiness()).includes('"database":"cannot be reached'));
    await until("the response has an age", async () => (await get(paths.personalization)).headers.has("age"));
    for (let time = 0; time < 2; time++) {
      const sentAt = performance.now();
      const { status, headers, body } = await get(paths.personalization);
      expect(status).toBe(200);
      expect(body).toBe(before.body);
      expect([before, { headers }].map((each) => each.headers.get("cdn-cache-control"))).toEqual([
        "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400",
        "no-store, max-age=0",
      ]);
      expect(headers.get("etag")).toBe(before.headers.get("etag"));
      expect(headers.get("cache-status")).toBe("pds; hit; detail=unverified");
      // The age starts at the last successful poll, which was before the store was dropped.
      const leastS = Math.floor((sentAt - lostAt) / 1000);
      expect(Number(headers.get("age"))).toBeWithin(leastS, (performance.now() - verifiedAt) / 1000 + 2);
      const unchanged = await service.get(paths.personalization, { headers: { "If-None-Match": "*" } });
      expect([unchanged.status, unchanged.headers.has("age")]).toEqual([304, true]);
      expect(unchanged.headers.get("cdn-cache-control")).toBe("no-store, max-age=0");
      const histories = await get(paths.histories);
      expect([histories.status, histories.headers.get("age")]).toEqual([200, expect.stringMatching(/^\d+$/)]);
      const isOlder = async () => (await get(paths.personalization)).headers.get("age") !== headers.get("age");
      await until("the response is older", isOlder);
    }

    for (const path of ["/api/v1/products/8", paths.product, "/api/v1/products/pz/other", "/api/v1/histories/asc"]) {
      const { status, headers, response } = await get(path);
      expect([path, status]).toEqual([path, 503]);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.has("cdn-cache-control") || headers.has("etag") || headers.has("cache-tag")).toBeFalse();
      expect(headers.get("retry-after")).toMatch(/^\d+$/);
      expectCommon(response);
    }
  });
});
