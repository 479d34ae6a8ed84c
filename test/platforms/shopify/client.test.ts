import { afterAll, afterEach, beforeEach, describe, expect, jest, setSystemTime, test } from "bun:test";
import fc from "fast-check";
import type { ProductRecord } from "../../../packages/platform-stand-in/src/catalog/records.ts";
import { type SpecialName, specialNames } from "../../../packages/platform-stand-in/src/catalog/specials.ts";
import { type Fault, startStandIn } from "../../../packages/platform-stand-in/src/stand-in.ts";
import { productSchema } from "../../../src/contract/product.ts";
import { toId } from "../../../src/contract/product-values.ts";
import { ChangingProductError, type PointsReport, type Priority } from "../../../src/platforms/platform.ts";
import type { SendRequest } from "../../../src/platforms/shopify/client.ts";
import { documents } from "../../../src/platforms/shopify/queries.ts";
import { type RequestFailure, retryDelayMs, ShopifyError } from "../../../src/platforms/shopify/retry.ts";
import { readShop } from "../../../src/platforms/shopify/shop.ts";
import { Throttle } from "../../../src/platforms/shopify/throttle.ts";
import { grantedToken, staticToken } from "../../../src/platforms/shopify/token.ts";
import { startServer } from "../../support/server.ts";
import {
  connect,
  credentialsOf,
  failureOf,
  identifiersOf,
  live,
  readFound,
  startOwn,
  watch,
} from "../../support/shopify.ts";
import { until } from "../../support/until.ts";

/** A cost budget that never throttles. */
const plenty = { maximumAvailable: 1_000_000, restoreRate: 1_000_000 };

const platform = startStandIn({ now: () => Date.now() - 60_000, products: 60, specials: "all", bucket: plenty });
const { catalog, counters, faults } = platform;
const shop = { id: "gid://shopify/Shop/53320891", timeZone: "America/New_York" };
const shopData = {
  shop: { id: shop.id, myshopifyDomain: "stand-in.myshopify.com", ianaTimezone: shop.timeZone, weightUnit: "POUNDS" },
};

beforeEach(() => {
  faults.clear();
  counters.reset();
  platform.access.restoreTokens();
});
afterEach(() => {
  setSystemTime();
  jest.useRealTimers();
});
afterAll(() => platform.stop());

/** A server that responds as given and records its requests. */
function serve(answer: (request: Request, number: number) => Response | Promise<Response>) {
  const asked: { readonly method: string; readonly path: string; readonly body: string }[] = [];
  const origin = startServer(async (request) => {
    asked.push({ method: request.method, path: new URL(request.url).pathname, body: await request.clone().text() });
    return await answer(request, asked.length);
  });
  return { asked, url: `${origin}/graphql.json` };
}

const good = () => Response.json({ data: shopData });

/** The error of a request for the shop, which is Shopify's. */
async function refusalAt(url: string, ...credentials: [] | [ReturnType<typeof grantedToken>]): Promise<Error> {
  const error = await failureOf(readShop(connect(url, ...credentials).request, live()));
  expect(error).toBeInstanceOf(ShopifyError);
  return error;
}

const levelsOf = (lines: readonly string[]) => lines.map((line): number => JSON.parse(line).level);
const [debug, warn] = [20, 40];

describe("the retry delay", () => {
  const status = (code: number, retryAfterS?: number): RequestFailure => ({
    kind: "status",
    status: code,
    ...(retryAfterS !== undefined && { retryAfterS }),
  });
  const graphql = (...codes: string[]): RequestFailure => ({ kind: "graphql", codes, message: "" });

  const permanent: [string, RequestFailure][] = [
    ...[400, 401, 402, 403, 404, 406, 413, 422, 423].map((code): [string, RequestFailure] => [`${code}`, status(code)]),
    ["402 with Retry-After", status(402, 1)],
    ["MAX_COST_EXCEEDED", graphql("MAX_COST_EXCEEDED")],
    ["ACCESS_DENIED", graphql("ACCESS_DENIED")],
    ["ACCESS_DENIED beside an internal error", graphql("INTERNAL_SERVER_ERROR", "ACCESS_DENIED")],
    ["INVALID_VARIABLE", graphql("INVALID_VARIABLE")],
    ["an error without a code", graphql("UNKNOWN")],
    ["a list of no errors", graphql()],
    ["a grant that is refused", { kind: "grant", status: 401 }],
    ["a grant for an unknown app", { kind: "grant", status: 400 }],
  ];
  test.each(permanent)("is undefined after a permanent failure: %s", (_, failure) => {
    for (const random of [0, 0.5, 1])
      expect(retryDelayMs(failure, { number: 1, elapsedMs: 0 }, random)).toBeUndefined();
  });

  const passing = fc.oneof<fc.Arbitrary<RequestFailure>[]>(
    fc.record({
      kind: fc.constant("status"),
      status: fc.constantFrom(408, 429, 430, 500, 502, 503, 504),
      retryAfterS: fc.double({ min: 0.001, max: 200, noNaN: true }),
    }),
    fc.constantFrom<RequestFailure>(
      ...[408, 429, 430, 500, 502, 503, 504].map((code) => status(code)),
      graphql("INTERNAL_SERVER_ERROR"),
      graphql("TIMEOUT", "INTERNAL_SERVER_ERROR"),
      ...[429, 500].map((code): RequestFailure => ({ kind: "grant", status: code })),
      { kind: "network", message: "" },
    ),
    fc.record({ kind: fc.constant("throttled"), waitMs: fc.double({ min: 0, max: 200_000, noNaN: true }) }),
  );
  const chance = fc.double({ min: 0, max: 1, noNaN: true });
  const askedForMs = (failure: RequestFailure) =>
    failure.kind === "throttled" ? failure.waitMs : failure.kind === "status" ? (failure.retryAfterS ?? 0) * 1000 : 0;

  test("is at least the requested delay, plus jitter of at most the backoff", () => {
    fc.assert(
      fc.property(
        passing,
        fc.integer({ min: 1, max: 12 }),
        fc.nat(130_000),
        chance,
        (failure, number, elapsedMs, random) => {
          const delayMs = retryDelayMs(failure, { number, elapsedMs }, random);
          const backoffMs = Math.min(20_000, 250 * 2 ** (number - 1));
          const wantedMs = askedForMs(failure) + backoffMs * random;
          if (number >= 10 || elapsedMs + wantedMs > 120_000) expect(delayMs).toBeUndefined();
          else expect(delayMs).toBeCloseTo(wantedMs, 6);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

test.each([
  ["", {}],
  ["compressed", { "Content-Encoding": "gzip" }],
])("a response that is too large is not read to its end, and not requested again: %s", async (encoding, headers) => {
  const text = `{"data":${JSON.stringify(shopData)}${" ".repeat(65 * 2 ** 20)}}`;
  const body = encoding === "" ? text : Bun.gzipSync(text);
  const server = serve(() => new Response(body, { headers: { "Content-Type": "application/json", ...headers } }));
  const { request } = connect(server.url);
  const error = await failureOf(readShop(request, live()));
  expect(error.message).toBe("Shopify request Shop failed: the response is larger than 64 MB");
  expect(server.asked).toHaveLength(1);
});

describe("a temporary failure", () => {
  test.each<[string, Fault, logged?: object]>([
    ["429", { kind: "status", status: 429, retryAfter: "0.03" }, { delayMs: 30 }],
    ["429 without Retry-After", { kind: "status", status: 429, retryAfter: "soon" }, { delayMs: 0 }],
    ["408", { kind: "status", status: 408 }],
    ["430", { kind: "status", status: 430 }],
    ["500", { kind: "status", status: 500 }],
    ["502", { kind: "status", status: 502 }],
    ["503", { kind: "status", status: 503 }],
    ["504", { kind: "status", status: 504 }],
    ["an internal error", { kind: "internalError" }],
    ["a connection closed before the response", { kind: "reset" }],
    ["a connection closed during the response", { kind: "halfBody" }],
    ["half of a response", { kind: "halfJson" }, { failure: "the response is incomplete or not JSON" }],
    ["a page of HTML", { kind: "html" }, { failure: "the response is incomplete or not JSON" }],
    ["throttling", { kind: "throttled" }, { failure: "throttled" }],
  ])("costs one more request and nothing else: %s", async (_, fault, logged = {}) => {
    faults.add(fault);
    const { request, lines } = connect(platform.graphqlUrl());
    expect(await readShop(request, live())).toMatchObject(shop);
    expect(await readShop(request, live())).toMatchObject(shop);
    expect(counters.requests.get("Shop")).toBe(3);
    expect(counters.faults.get(fault.kind)).toBe(1);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        level: debug,
        operation: "Shop",
        attempt: 1,
        msg: "retrying a Shopify request",
        ...logged,
      }),
    ]);
  });

  test("is retried when the missing points are restored", async () => {
    await using slow = startOwn({ products: 1, bucket: { maximumAvailable: 2000, restoreRate: 1000 } });
    slow.faults.add({ kind: "throttled", available: 15 });
    const { request, lines } = connect(slow.graphqlUrl());
    const id = slow.catalog.idAt(0);
    expect((await readFound(request, BigInt(id), live()))?.product.id).toBe(toId(id));
    // ProductById is 95 points: 80 are missing.
    expect(lines.map((line) => JSON.parse(line).delayMs)).toEqual([80]);
    expect(slow.counters.requests.get("ProductById")).toBe(2);
    expect(slow.counters.throttled).toBe(1);
  });

  test("does not corrupt responses, even when many kinds coincide", async () => {
    const kinds = ["reset", "halfBody", "halfJson", "html", "internalError"] as const;
    for (const kind of kinds) faults.add({ kind, probability: 0.04 });
    for (const status of [429, 500, 503]) faults.add({ kind: "status", status, retryAfter: "0.01", probability: 0.04 });
    const { request } = connect(platform.graphqlUrl(), credentialsOf(platform));
    const ids = catalog.ids(0, 40);
    const read = await Promise.all(ids.map((id) => readFound(request, BigInt(id), live())));
    expect(read.map((found) => `${found?.product.id}`)).toEqual(ids);
    expect([...counters.faults.keys()].length).toBeGreaterThan(3);
  });
});

describe("a permanent failure", () => {
  const answers = (status: number): Fault => ({ kind: "status", status, count: 99 });

  test.each<[string, Fault, help: RegExp]>([
    ["401", { kind: "tokenExpired", count: 99 }, /status 401: the access token was rejected/],
    ["402", answers(402), /status 402: the shop is frozen/],
    ["403", answers(403), /status 403: the app lacks permission/],
    ["404", answers(404), /status 404: .*SHOP_DOMAIN must be .*\.myshopify\.com/],
    ["423", answers(423), /status 423: the shop is locked/],
  ])("is reported at once, after one request: %s", async (_, fault, help) => {
    faults.add(fault);
    const error = await refusalAt(platform.graphqlUrl());
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringMatching(help) });
    expect(counters.requests.get("Shop")).toBe(1);
  });

  test("is reported at once, after one request: a missing scope, with its name", async () => {
    const app = platform.findApp();
    const { scopes } = app;
    app.scopes = new Set();
    const error = await failureOf(readFound(connect(platform.graphqlUrl()).request, 1n, live()));
    app.scopes = scopes;
    expect(error.message).toMatch(/ACCESS_DENIED: Access denied for product field.*`read_products`/);
    expect(error).toBeInstanceOf(ShopifyError);
    expect(counters.requests.get("ProductById")).toBe(1);
  });

  test.each<[string, object, help: string]>([
    [
      "a query over the limit",
      { errors: [{ message: "Query cost is 1,200", extensions: { code: "MAX_COST_EXCEEDED" } }] },
      "MAX_COST_EXCEEDED: Query cost is 1,200",
    ],
    ["an error without a code", { errors: [{ message: "no" }], data: shopData }, "UNKNOWN: no"],
    ["plain text instead of a list of errors", { errors: "[API] This action requires something" }, "[API] This action"],
  ])("is reported at once, after one request: %s", async (_, body, help) => {
    const server = serve(() => Response.json(body));
    const error = await refusalAt(server.url);
    expect(error.message).toContain(help);
    expect(server.asked).toHaveLength(1);
  });

  test.each([301, 302, 303, 307, 308])("includes a redirect, which is not followed: %i", async (status) => {
    const elsewhere = serve(good);
    const server = serve(() => new Response(null, { status, headers: { Location: elsewhere.url } }));
    await refusalAt(server.url);
    await refusalAt(platform.graphqlUrl(), grantedToken(server.url, "id", "secret"));
    expect(elsewhere.asked).toEqual([]);
    expect(server.asked).toHaveLength(2);
  });
});

describe("the caller's signal", () => {
  test("aborts the wait before a retry", async () => {
    faults.add({ kind: "status", status: 429, retryAfter: "60" });
    const controller = new AbortController();
    const { request, lines } = connect(platform.graphqlUrl());
    const failure = failureOf(readShop(request, live(controller.signal)));
    await until("it is logged", () => lines.length === 1);
    controller.abort(new Error("enough"));
    expect(await failure).toMatchObject({ name: "AbortError", cause: new Error("enough") });
  });

  test("prevents the request when it is already aborted", async () => {
    const { request } = connect(platform.graphqlUrl());
    expect((await failureOf(readShop(request, live(AbortSignal.abort(new Error("no")))))).message).toBe("no");
    expect(counters.requests.size).toBe(0);
  });

  test("aborts one request and leaves the others", async () => {
    faults.add({ kind: "hang", skip: 1 });
    const { request } = connect(platform.graphqlUrl());
    await readShop(request, live());
    const controller = new AbortController();
    const hanging = failureOf(readShop(request, live(controller.signal)));
    await until("a request hangs", () => counters.faults.get("hang") === 1);
    expect(await Promise.all(Array.from({ length: 10 }, () => readShop(request, live())))).toHaveLength(10);
    controller.abort(new Error("enough"));
    expect((await hanging).message).toBe("enough");
    expect(counters.requests.get("Shop")).toBe(1 + 1 + 10);
    expect(await readShop(request, live())).toMatchObject(shop);
  });
});

describe("an access token from client credentials", () => {
  test.each([
    [0.94, 1],
    [0.96, 2],
    [1.5, 2],
  ])("is renewed before it expires: at %d of its lifetime, %i were granted", async (part, grants) => {
    const { request, lines } = connect(platform.graphqlUrl(), credentialsOf(platform));
    await readShop(request, live());
    setSystemTime(Date.now() + part * 86_399_000);
    await readShop(request, live());
    expect(counters.tokenGrants).toBe(grants);
    expect(counters.requests.get("Shop")).toBe(2);
    expect(lines).toEqual([]);
  });

  test("is renewed once for many requests after it was revoked", async () => {
    const { request } = connect(platform.graphqlUrl(), credentialsOf(platform));
    await readShop(request, live());
    platform.access.revoke();
    const shops = await Promise.all(Array.from({ length: 40 }, () => readShop(request, live())));
    expect(shops).toHaveLength(40);
    expect(counters.tokenGrants).toBe(2);
  });

  test("is renewed only once when the new one is rejected too", async () => {
    faults.add({ kind: "tokenExpired", count: 99 });
    const { request } = connect(platform.graphqlUrl(), credentialsOf(platform));
    const error = await failureOf(readShop(request, live()));
    expect(error.message).toContain("status 401: the access token was rejected");
    expect(counters.requests.get("Shop")).toBe(2);
    expect(counters.tokenGrants).toBe(2);
  });

  test("is kept when an older token is rejected late", async () => {
    const token = credentialsOf(platform);
    const { signal } = new AbortController();
    const first = await token.get(signal);
    expect(token.renew(first)).toBe(true);
    const second = await token.get(signal);
    token.renew(first);
    expect(await token.get(signal)).toBe(second);
    expect(counters.tokenGrants).toBe(2);
  });

  test("arrives for other callers after the first one aborts", async () => {
    const release = Promise.withResolvers<void>();
    const server = serve(async () => {
      await release.promise;
      return Response.json({ access_token: "granted", expires_in: 60 });
    });
    const token = grantedToken(server.url, "id", "secret");
    const controller = new AbortController();
    const left = failureOf(token.get(controller.signal));
    const waiting = token.get(new AbortController().signal);
    controller.abort(new Error("left"));
    expect((await left).message).toBe("left");
    release.resolve();
    expect(await waiting).toBe("granted");
    expect(server.asked).toHaveLength(1);
  });

  test("is requested with the fields of the grant", async () => {
    const server = serve(() => Response.json({ access_token: "granted", expires_in: 60 }));
    await grantedToken(server.url, "an id", "a&secret").get(new AbortController().signal);
    expect(server.asked).toEqual([
      {
        method: "POST",
        path: "/graphql.json",
        body: "client_id=an+id&client_secret=a%26secret&grant_type=client_credentials",
      },
    ]);
  });

  test.each<[string, Fault]>([
    ["500", { kind: "status", status: 500 }],
    ["429", { kind: "status", status: 429 }],
    ["half of a response", { kind: "halfJson" }],
    ["a page of HTML", { kind: "html" }],
    ["a closed connection", { kind: "reset" }],
  ])("is requested again after a temporary failure: %s", async (_, fault) => {
    faults.add({ ...fault, operation: "AccessToken" });
    const { request } = connect(platform.graphqlUrl(), credentialsOf(platform));
    expect(await readShop(request, live())).toMatchObject(shop);
    expect(counters.faults.get(fault.kind)).toBe(1);
    expect(counters.requests.get("Shop")).toBe(1);
  });

  test.each([
    ["a wrong secret", 401, { error: "invalid_client" }],
    ["an unknown app", 400, { error: "application_cannot_be_found" }],
  ])("fails at once for %s, naming the settings", async (_, status, body) => {
    const server = serve(() => Response.json(body, { status }));
    const error = await refusalAt(platform.graphqlUrl(), grantedToken(server.url, "id", "secret"));
    expect(error.message).toMatch(/no access token granted.*SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET/);
    expect(server.asked).toHaveLength(1);
    expect(counters.requests.size).toBe(0);
  });
});

describe("a secret", () => {
  const [token, clientSecret] = [`shpat_${crypto.randomUUID()}`, `shpss_${crypto.randomUUID()}`];
  const guarded = startStandIn({
    products: 1,
    bucket: plenty,
    apps: [{ name: "app", token, clientId: "id", clientSecret }],
  });
  afterAll(() => guarded.stop());
  const tokens = {
    "its own token": () => staticToken(token),
    "client credentials": () => grantedToken(guarded.accessTokenUrl, "id", clientSecret),
    "rejected credentials": () => grantedToken(guarded.accessTokenUrl, "unknown", clientSecret),
    "an unreachable token endpoint": () => grantedToken("http://127.0.0.1:1/token", "id", clientSecret),
  };
  const troubles: (readonly [string, Fault])[] = [
    ["401", { kind: "tokenExpired", count: 99 }],
    ["403", { kind: "status", status: 403, count: 99 }],
    ["500", { kind: "status", status: 500, count: 99 }],
    ["a closed connection", { kind: "reset", count: 99 }],
    ["half of a response", { kind: "halfBody", count: 99 }],
    ["a page of HTML", { kind: "html", count: 99 }],
    ["an internal error", { kind: "internalError", count: 99 }],
  ];
  const cases = Object.keys(tokens).flatMap((name) =>
    troubles.map(([trouble, fault]) => [name as keyof typeof tokens, trouble, fault] as const),
  );

  test.each(cases)("never appears in an error or the log: with %s, at %s", async (name, _, fault) => {
    guarded.faults.clear();
    guarded.access.restoreTokens();
    guarded.faults.add(fault);
    const { request, lines } = connect(guarded.graphqlUrl(), tokens[name]());
    const error = await failureOf(readShop(request, live()));
    expect(error).toBeInstanceOf(ShopifyError);
    const output = [
      error.message,
      error.stack,
      JSON.stringify(error),
      Bun.inspect(error, { depth: 50 }),
      Bun.inspect(error.cause, { depth: 50 }),
      ...lines,
    ].join("\n");
    expect(output).not.toContain(token);
    expect(output).not.toContain(clientSecret);
    expect(output).not.toContain("shpat_granted");
  });
});

describe("the version of the API", () => {
  test("is logged once when it differs from the requested one", async () => {
    await using later = startOwn({ products: 1, bucket: plenty, versions: ["2027-01"] });
    const { request, lines } = connect(later.graphqlUrl("2026-10"));
    for (let read = 0; read < 5; read++) await readShop(request, live());
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: warn, requested: "2026-10", served: "2027-01" }),
    ]);
  });

  test("is logged once when it alternates", async () => {
    const { request, lines } = connect(platform.graphqlUrl());
    for (let read = 0; read < 4; read++) {
      faults.add({ kind: "fallForward", version: "2027-01" });
      await readShop(request, live());
      await readShop(request, live());
    }
    expect(levelsOf(lines)).toEqual([warn]);
  });
});

describe("the cost budget", () => {
  const status = (currentlyAvailable: number, maximumAvailable = 2000): PointsReport => ({
    maximumAvailable,
    currentlyAvailable,
    restoreRate: 100,
  });
  const never = new AbortController().signal;

  /** The send time of the latest request. */
  const latest = Number.POSITIVE_INFINITY;

  /** Takes points in the given order; `served` has the names of admitted requests, "first" if the budget is known. */
  function createQueue(known?: PointsReport) {
    const throttle = new Throttle(() => 0);
    const served: string[] = [];
    const take = (name: string, cost: number, priority: Priority = "live", signal = never) => {
      const taken = throttle.take(cost, priority, signal).then(() => void served.push(name));
      taken.catch(() => undefined);
      return taken;
    };
    // Lets all settled promises run their callbacks.
    const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
    if (known !== undefined) {
      take("first", 10);
      throttle.settle(10, known, latest);
    }
    return { throttle, served, take, settled };
  }

  test("admits one request at a time while it is unknown, also when the first one failed", async () => {
    const { throttle, served, take, settled } = createQueue();
    for (const name of ["first", "second", "third", "fourth"]) take(name, 100);
    await settled();
    expect(served).toEqual(["first"]);
    throttle.settle(100, undefined, latest);
    await settled();
    expect(served).toEqual(["first", "second"]);
    throttle.settle(100, status(250), latest);
    await settled();
    expect(served).toEqual(["first", "second", "third", "fourth"]);
  });

  test("serves live requests first", async () => {
    const { throttle, served, take, settled } = createQueue(status(0));
    for (const name of ["s1", "s2"]) take(name, 100, "sync");
    for (const name of ["l1", "l2"]) take(name, 100);
    take("last", 0);
    throttle.settle(0, status(100), latest);
    await settled();
    expect(served).toEqual(["first", "l1"]);
    throttle.settle(100, status(2000), latest);
    await settled();
    expect(served).toEqual(["first", "l1", "l2", "last", "s1", "s2"]);
  });

  test.each([
    [499, 2000, false],
    [500, 2000, true],
    [299, 300, false],
    [300, 300, true],
  ])(
    "keeps a reserve for live requests: with %i of %i points, sync continues: %p",
    async (available, maximum, goes) => {
      const { served, take, settled } = createQueue(status(available, maximum));
      take("sync", 100, "sync");
      await settled();
      expect(served.includes("sync")).toBe(goes);
      take("live", 100);
      await settled();
      expect(served).toContain("live");
    },
  );

  test("frees the points of an aborted request", async () => {
    const { served, take, settled } = createQueue(status(200));
    const controller = new AbortController();
    const dear = take("dear", 900, "live", controller.signal);
    take("cheap", 150);
    await settled();
    expect(served).toEqual(["first"]);
    controller.abort(new Error("left"));
    expect((await failureOf(dear)).message).toBe("left");
    await settled();
    expect(served).toEqual(["first", "cheap"]);
  });

  test("keeps the points of a request that is aborted after it was sent", async () => {
    const { throttle, served, take, settled } = createQueue();
    const controller = new AbortController();
    take("first", 10, "live", controller.signal);
    take("second", 10);
    await settled();
    controller.abort();
    await settled();
    expect(served).toEqual(["first"]);
    throttle.settle(10, undefined, latest);
    await settled();
    expect(served).toEqual(["first", "second"]);
  });

  test("is never exceeded, and every request is served", async () => {
    const request = fc.record({
      cost: fc.integer({ min: 1, max: 250 }),
      spentPart: fc.double({ min: 0, max: 1, noNaN: true }),
      priority: fc.constantFrom<Priority>("live", "sync"),
      arrivesMs: fc.nat(2000),
      priced: fc.nat(100),
      takesMs: fc.nat(100),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 250, max: 1200 }),
        async (requests, maximumAvailable) => {
          jest.useFakeTimers();
          let nowMs = 0;
          const throttle = new Throttle(() => nowMs);
          let available = maximumAvailable;
          let refused = 0;
          let answered = 0;
          // Shopify prices requests, and its responses arrive, in the order they were sent.
          const steps: { atMs: number; run: () => void }[] = [];
          let lastAtMs = 0;
          const later = (afterMs: number, run: () => void) => {
            lastAtMs = Math.max(lastAtMs, nowMs + afterMs);
            steps.push({ atMs: lastAtMs, run });
          };
          for (const { cost, spentPart, priority, arrivesMs, priced, takesMs } of requests) {
            setTimeout(async () => {
              const sentAtMs = await throttle.take(cost, priority, never);
              later(priced, () => {
                if (cost > available) refused++;
                else available -= Math.ceil(cost * spentPart);
                const status = { maximumAvailable, currentlyAvailable: Math.floor(available), restoreRate: 100 };
                later(takesMs, () => {
                  answered++;
                  throttle.settle(cost, status, sentAtMs);
                });
              });
            }, arrivesMs);
          }
          for (; answered < requests.length && nowMs < 300_000; nowMs += 10) {
            available = Math.min(maximumAvailable, available + 1);
            jest.advanceTimersByTime(10);
            for (const step of steps.splice(0)) {
              if (step.atMs <= nowMs) step.run();
              else steps.push(step);
            }
            await null;
            await null;
            await null;
          }
          jest.useRealTimers();
          expect({ answered, refused }).toEqual({ answered: requests.length, refused: 0 });
        },
      ),
      { numRuns: 40 },
    );
  });

  test("of the smallest plan serves sixty concurrent reads without throttling", async () => {
    await using small = startOwn({
      products: 60,
      variants: 1,
      images: 0,
      metafields: 0,
      variantMetafields: 0,
      bucket: { maximumAvailable: 700, restoreRate: 100 },
    });
    const { request, lines } = connect(small.graphqlUrl());
    const ids = small.catalog.ids(0, 60);
    const read = await Promise.all(ids.map((id) => readFound(request, BigInt(id), live())));
    expect(read.map((found) => `${found?.product.id}`)).toEqual(ids);
    expect(small.counters.throttled).toBe(0);
    // More than the bucket held, so some had to wait.
    expect(small.counters.pointsSpent).toBeGreaterThan(800);
    expect(small.counters.requests.get("ProductById")).toBe(60);
    expect(lines).toEqual([]);
  });
});

describe("reading a product", () => {
  const read = async (id: string) => {
    const { request } = connect(platform.graphqlUrl());
    const found = await readFound(request, BigInt(id), live());
    if (found === undefined) throw new Error(`no product ${id}`);
    return found;
  };
  const recordOf = (id: string): ProductRecord => {
    const record = catalog.findProduct(id);
    if (record === undefined) throw new Error(`no product ${id} in the catalog`);
    return record;
  };
  const gids = (list: readonly { readonly admin_graphql_api_id: string }[]) =>
    list.map((member) => member.admin_graphql_api_id);

  const figures: Record<SpecialName, { variants: number; images: number; variantMetafields: number }> = {
    manyVariants: { variants: 2048, images: -1, variantMetafields: -1 },
    manyMetafields: { variants: 3, images: -1, variantMetafields: 300 },
    manyImages: { variants: -1, images: 260, variantMetafields: -1 },
    hugeId: { variants: -1, images: -1, variantMetafields: -1 },
    nulls: { variants: 3, images: 2, variantMetafields: -1 },
    hostile: { variants: 2, images: 2, variantMetafields: 5 },
    movedMedia: { variants: -1, images: 5, variantMetafields: -1 },
    bare: { variants: 1, images: 0, variantMetafields: 0 },
  };

  test.each(specialNames)("returns all of its lists in the contract's shape: %s", async (name) => {
    const id = catalog.idOfSpecial(name);
    const { product, updatedAt } = await read(id);
    const record = recordOf(id);
    expect(productSchema.safeParse(product).error?.issues.slice(0, 3)).toBeUndefined();
    expect({
      id: product.admin_graphql_api_id,
      images: gids(product.images),
      metafields: gids(product.metafields),
      variants: product.variants.map((variant) => ({
        id: variant.admin_graphql_api_id,
        metafields: gids(variant.metafields),
      })),
    }).toEqual(identifiersOf(record));
    expect(`${product.id}`).toBe(id);
    expect(product).toMatchObject({ title: record.title, body_html: record.descriptionHtml, vendor: record.vendor });
    expect(updatedAt).toBe(record.updatedAt);
    const { variants, images, variantMetafields } = figures[name];
    if (variants >= 0) expect(product.variants).toHaveLength(variants);
    if (images >= 0) expect(product.images).toHaveLength(images);
    const most = Math.max(...product.variants.map(({ metafields }) => metafields.length));
    if (variantMetafields >= 0) expect(most).toBe(variantMetafields);
  });

  test.each<[keyof ProductRecord & ("images" | "metafields" | "variants"), number]>([
    ["variants", 250],
    ["images", 60],
    ["metafields", 60],
  ])("reads all %s (%d) in one state, though the product changes all the time", async (list, length) => {
    await using busy = startOwn({ bucket: plenty });
    const id = busy.catalog.add({ shape: { variants: 2, [list]: length } });
    const { request } = connect(busy.graphqlUrl());
    let price = 1000;
    // Each sale moves `updatedAt`, and no two requests see the same state.
    const selling = watch(request, () => {
      const changes = { title: `${++price}.00` };
      busy.catalog.touch(id, { product: changes, variants: { 1: { price: `${price}.00` }, 2: changes } });
    });
    const found = await readFound(selling, BigInt(id), live());
    expect(found?.product[list]).toHaveLength(length);
    const [first, second] = found?.product.variants ?? [];
    const states = [found?.product.title, first?.price, second?.title];
    expect({ states, isSettled: found?.isSettled }).toEqual({ states: Array(3).fill(`${price}.00`), isSettled: false });
    expect(busy.counters.requests).toEqual(new Map([["ProductById", 2]]));
  });

  test("reads a product that is too large for one response page by page", async () => {
    const { request } = connect(platform.graphqlUrl());
    const id = catalog.add({ shape: { variants: 60 } });
    const refusing: SendRequest = async (operation, variables, options) => {
      if (operation === "ProductById" && "variants" in variables && variables.variants === 250)
        throw new ShopifyError(operation, { kind: "graphql", codes: ["MAX_COST_EXCEEDED"], message: "" });
      return await request(operation, variables, options);
    };
    expect((await readFound(refusing, BigInt(id), live()))?.product.variants).toHaveLength(60);
    catalog.remove(id);
  });

  test.each<[string, SpecialName]>([
    ["ProductImagesPage", "manyImages"],
    ["ProductMediaPage", "manyImages"],
    ["ProductVariantsPage", "manyVariants"],
    ["VariantMetafieldsPage", "manyMetafields"],
  ])("starts again when the product changes before %s", async (page, name) => {
    const id = catalog.idOfSpecial(name);
    const { request } = connect(platform.graphqlUrl());
    let changed = false;
    const editing = watch(request, (operation) => {
      if (operation !== page || changed) return;
      changed = true;
      const mark = `changed before ${page}`;
      catalog.touch(id, {
        product: { title: mark },
        variants: { 1: { title: mark }, 3: { title: mark } },
        images: { 1: { altText: mark }, 200: { altText: mark } },
      });
    });
    const found = await readFound(editing, BigInt(id), live());
    expect(changed).toBe(true);
    expect(counters.requests.get("ProductById")).toBe(4);
    expect(found?.product.title).toBe(`changed before ${page}`);
    expect(found).toEqual(await read(id));
  });

  test("fails with the reason when the product keeps changing", async () => {
    faults.add({ kind: "changeBetweenPages", count: 99 });
    const { request } = connect(platform.graphqlUrl());
    const id = BigInt(catalog.idOfSpecial("manyMetafields"));
    const error = await failureOf(readFound(request, id, live()));
    expect(error).toBeInstanceOf(ChangingProductError);
    expect(error.message).toContain("the product keeps changing while it is read");
    expect((error as ChangingProductError).updatedAt).toBe(recordOf(`${id}`).updatedAt);
    expect(counters.requests.get("ProductById")).toBe(8);
    expect(counters.requests.get("VariantMetafieldsPage")).toBe(4);
  });

  test("finds nothing when the product is removed between pages", async () => {
    const id = catalog.add({ shape: { variants: 251 } });
    const { request } = connect(platform.graphqlUrl());
    const removing = watch(request, (operation) => {
      if (operation === "ProductVariantsPage") catalog.remove(id);
    });
    expect(await readFound(removing, BigInt(id), live())).toBeUndefined();
  });
});

test("a request names its operation, so that Shopify can report which one failed", async () => {
  const server = serve(good);
  await readShop(connect(server.url).request, live());
  const sent = { query: documents.Shop, operationName: "Shop", variables: {} };
  expect(JSON.parse(server.asked[0]?.body ?? "")).toEqual(sent);
});
