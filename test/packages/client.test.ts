import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { build } from "../../packages/client/build.ts";
import * as source from "../../packages/client/src/index.ts";
import { parseBigints, parseWithMarkers } from "../../packages/client/src/json.ts";
import { parseRetryAfter, retryDelayMs } from "../../packages/client/src/retry.ts";
import { parseJson, toJson } from "../../src/base/json.ts";
import type { historiesSchema } from "../../src/contract/history.ts";
import type { personalizationSchema, personalizationsSchema } from "../../src/contract/personalization.ts";
import type { ProductAnswer } from "../../src/contract/product.ts";
import type { Id } from "../../src/contract/product-values.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { toProduct } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import { root, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

const { createClient, ProductDataError, toForm, toResult } = source;

// Compile-time check: the package's interfaces equal the types of the service's schemas.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Found = { [Field in keyof ProductAnswer]: Field extends "error" ? null : NonNullable<ProductAnswer[Field]> };
type Answered<Client extends source.Client<Id>> = Awaited<ReturnType<Client["product"]>>["product"]["id"];
const exact = () => createClient("", { bigints: true });
const rounded = () => createClient("", { retries: 0 });
true satisfies Same<source.Personalization, import("zod").infer<typeof personalizationSchema>>;
true satisfies Same<source.Personalizations, import("zod").infer<typeof personalizationsSchema>>;
true satisfies Same<source.Histories, import("zod").infer<typeof historiesSchema>>;
true satisfies Same<source.FoundProduct<Id>, Found>;
true satisfies Same<Answered<ReturnType<typeof exact>>, number | bigint>;
true satisfies Same<Answered<ReturnType<typeof rounded>>, number>;

const folder = await temporaryFolder();
const home = join(folder, "node_modules", "product-data-client");
const packageFolder = join(root, "packages", "client");
const big = toProduct(9007199254740993n);

/** Installs the built package. */
async function install(): Promise<void> {
  await mkdir(home, { recursive: true });
  await Promise.all([
    build(join(home, "dist")),
    copyFile(join(packageFolder, "package.json"), join(home, "package.json")),
  ]);
}

/** Starts the service with the sample and one product whose IDs are beyond 2^53. */
async function startService() {
  const environment = {
    DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
    SHOP_DOMAIN: "larkspur-finch.example",
    BRAND: "Larkspur & Finch",
  };
  const [extra = ""] = await writeFiles(folder, { "big.ndjson": `${toJson(big)}\n` });
  const imported = await importHere(["import", "products", "sample/products.ndjson", extra], environment);
  if (imported.code !== 0) throw new Error(imported.stderr);
  await importHere(["import", "personalization", "sample/personalization"], environment);
  return await serve(environment);
}

const [browser, service] = await Promise.all([startBrowser(), startService(), install()]);
afterAll(() => service.stop());

type Reply = (request: Request) => Response | Promise<Response>;

interface StandIn extends AsyncDisposable {
  readonly url: string;
  /** Requests so far: path, and entity tag if present. */
  readonly requests: string[];
}

const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "*",
  "Access-Control-Expose-Headers": "*",
};

/** Sends each reply once, in order; the last one is repeated. */
function standIn(...replies: Reply[]): StandIn {
  const requests: string[] = [];
  let place = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const tag = request.headers.get("If-None-Match");
      const { pathname } = new URL(request.url);
      requests.push([request.method === "OPTIONS" ? "OPTIONS" : "", pathname, tag].filter(Boolean).join(" "));
      if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: cors });
      const response = await (replies[place++] ?? replies.at(-1))?.(request);
      for (const [name, value] of Object.entries(cors)) response?.headers.set(name, value);
      return response ?? new Response("", { status: 500 });
    },
  });
  return { url: server.url.href, requests, [Symbol.asyncDispose]: () => server.stop(true) };
}

const empty = { pzlines: [], pzstyles: [], pzchoices: [] };
const good = (body: object = { histories: [] }, headers: Record<string, string> = {}) =>
  new Response(toJson(body), { headers });
const fine: Reply = () => good();
const busy = (retryAfter?: string) =>
  new Response('{"detail":"The data store is unavailable. Try again later."}', {
    status: 503,
    headers: { "X-Request-Id": "r-503", ...(retryAfter !== undefined && { "Retry-After": retryAfter }) },
  });
const hangs = () => new Promise<Response>(() => {});

/** The error that a call rejects with. */
async function errorOf(call: Promise<unknown>): Promise<source.ProductDataError> {
  const { error } = await toResult(call);
  if (error === undefined) throw new Error("expected the call to reject");
  return error;
}

describe("the client with the real service", () => {
  const client = createClient(service.url);

  test("returns the personalization of a SKU", async () => {
    const { pzlines, pzstyles } = await client.personalization("TM814935W");
    expect(pzlines.map(({ style_code }) => style_code)).toEqual(["LASFAM"]);
    expect(pzstyles).toHaveLength(2);
  });

  test.each(["nothing there", "a/b", "../histories/asc", "100%", "a?b#c", "é+"])(
    "returns three empty lists for the unknown SKU %j",
    async (sku) => {
      expect(await client.personalization(sku)).toEqual(empty);
    },
  );

  test("returns the personalization of several SKUs, each once", async () => {
    const skus = ["a+b &sku=c", "TM814935W", "é/?#%", "TM814935W"];
    const { personalizations } = await client.personalizations(skus);
    expect(personalizations.map(({ sku }) => sku)).toEqual(skus.slice(0, 3));
    expect(personalizations[1]).toEqual({ sku: "TM814935W", ...(await client.personalization("TM814935W")) });
    const error = await errorOf(client.personalizations(Array.from({ length: 51 }, (_, index) => `${index}`)));
    expect(error).toMatchObject({ code: "bad_request", status: 400 });
  });

  test("returns a product by its handle", async () => {
    const { product } = await client.product(6781204660224);
    expect((await client.productByHandle(product.handle)).product).toEqual(product);
    expect(await errorOf(client.productByHandle("no/such handle"))).toMatchObject({ code: "not_found", status: 404 });
  });

  test("returns the form of a SKU in the offered locale that fits best", async () => {
    const { locale, styles } = await client.form("en-GB", "TM814935W");
    expect([locale, styles.map(({ name, lines }) => [name, lines.length])]).toEqual(["en", [["LASFAM", 2]]]);
    expect(await client.form("en", "a/b")).toEqual({ sku_id: "a/b", locale: "en", styles: [] });
    expect((await errorOf(client.form("en_GB", "TM814935W"))).code).toBe("bad_request");
  });

  test("returns the history, newest first by default", async () => {
    const { histories } = await client.histories("asc");
    expect(histories.length).toBeGreaterThan(1);
    expect((await client.histories()).histories).toEqual((await client.histories("desc")).histories);
    expect((await client.histories("desc")).histories).toEqual(histories.toReversed());
  });

  test.each(["6781204660224", 6781204660224, 6781204660224n])("returns the product %p", async (id) => {
    const { product, shop, error } = await client.product(id);
    expect([product.id, shop, error]).toEqual([6781204660224, "larkspur-finch.example", null]);
  });

  test("reports an unknown product with the request reference", async () => {
    const error = await errorOf(client.product(12));
    expect(error).toMatchObject({ name: "ProductDataError", code: "not_found", status: 404, retryAfterMs: undefined });
    expect(error.requestId).toMatch(/^[\w.:=+/@-]{1,128}$/);
    expect(error.message).toEndWith(`please include this id: ${error.requestId}`);
  });

  test.each(["abc", "0", -1, 2n ** 63n, "pz", "1/2", "../histories"])(
    "reports that %p is not a product ID",
    async (id) => {
      const error = await errorOf(client.product(id));
      expect(error).toMatchObject({ code: "bad_request", status: 400 });
      expect(error.message).toContain("expected String to be a id");
    },
  );

  test("returns integers beyond 2^53 exactly with bigints, and rounded without", async () => {
    const exactly = createClient(service.url, { bigints: true });
    expect((await exactly.product("9007199254740993")).product).toEqual(big);
    expect((await exactly.product(9007199254740993n)).product.id).toBe(9007199254740993n);
    expect((await exactly.product(6781204660224)).product.id).toBe(6781204660224);
    expect((await client.product(9007199254740993n)).product.id).toBe(9007199254740992);
  });

  test("reports a wrong base URL as not found", async () => {
    const error = await errorOf(createClient(`${service.url}/elsewhere`).histories());
    expect(error).toMatchObject({ code: "not_found", status: 404 });
    expect(error.message).toContain("This route does not exist");
  });
});

describe("the client rejects without sending a request", () => {
  const client = createClient("http://127.0.0.1:1") as unknown as Record<string, (value?: unknown) => Promise<unknown>>;
  const ids = [2 ** 53, -(2 ** 53), 1e21, 1.5, Number.NaN, Number.POSITIVE_INFINITY];
  const texts = ["", ".", "..", "\ud800"];
  const takeText = ["personalization", "product", "productByHandle"];

  type Row = [call: string, value: unknown, message: string];

  test.each<Row>([
    ...ids.map((id): Row => ["product", id, `${id} is not an exact product ID. Pass IDs beyond 2^53 as`]),
    ...takeText.flatMap((name) => texts.map((text): Row => [name, text, JSON.stringify(text)])),
    ...takeText.map((name): Row => [name, undefined, ""]),
    ["personalization", 12, ""],
    ["product", null, ""],
    ["product", {}, ""],
    ["productByHandle", Symbol("mug"), ""],
    ["personalizations", undefined, ""],
    ["personalizations", [], ""],
    ["personalizations", "MUG", ""],
    ["personalizations", ["MUG", undefined], ""],
    ["personalizations", ["MUG", ""], ""],
    ["histories", null, ""],
    ["histories", "", ""],
  ])("%s(%j)", async (name, value, message) => {
    const error = await errorOf(client[name]?.(value) ?? Promise.resolve());
    expect(error).toMatchObject({ code: "bad_request", status: undefined });
    expect(error.message).toContain(message);
  });

  test.each([
    ...[undefined, null, "", "shop.example", "shop.example:3000", "ftp://shop.example", "http://", "/shop", {}],
    ...["http://a b", "http://shop.example?x=1", "http://shop.example#x", "http://shop.example:99999"],
  ])("%p as the base URL", (baseUrl) => {
    const create = () => createClient(baseUrl as string);
    expect(create).toThrow(ProductDataError);
    expect(create).toThrow(/is not a URL that starts with http/);
  });
});

describe("identical calls at the same time", () => {
  test("share one request, and get objects of their own", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await using server = standIn(() => released.then(() => good()));
    const client = createClient(server.url);
    const calls = Array.from({ length: 20 }, () => client.histories());
    release();
    const all = await Promise.all(calls);
    expect(server.requests).toHaveLength(1);
    expect(new Set(all).size).toBe(20);
    await client.histories();
    expect(server.requests).toHaveLength(2);
  });

  test("go on when others of them are aborted, and the request is aborted with the last one", async () => {
    const aborted = Promise.withResolvers<void>();
    await using server = standIn(({ signal }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      return hangs();
    });
    const client = createClient(server.url);
    const [one, two] = [new AbortController(), new AbortController()];
    const first = errorOf(client.histories("asc", { signal: one.signal }));
    const second = errorOf(client.histories("asc", { signal: two.signal }));
    await until("the request has arrived", () => server.requests.length > 0);
    one.abort("first");
    expect(await first).toMatchObject({ code: "aborted", cause: "first" });
    const third = errorOf(client.histories("asc", { signal: two.signal }));
    two.abort("others");
    expect(await Promise.all([second, third])).toMatchObject([{ cause: "others" }, { cause: "others" }]);
    await aborted.promise;
    expect(server.requests).toHaveLength(1);
  });

  test("fail together, and are retried together", async () => {
    await using server = standIn(() => busy("0"), fine);
    const client = createClient(server.url);
    const all = await Promise.all(Array.from({ length: 5 }, () => client.histories()));
    expect(all).toEqual(Array.from({ length: 5 }, () => ({ histories: [] })));
    expect(server.requests).toHaveLength(2);
  });
});

describe("request URLs", () => {
  test.each(["", "/", "/shop", "/shop/", "/shop//"])(
    "start with the base URL, with or without trailing slashes: %j",
    async (end) => {
      await using server = standIn(() => good());
      await createClient(new URL(server.url).origin + end).histories("asc");
      await createClient(new URL(end, server.url)).histories("asc");
      const path = `${end.startsWith("/s") ? "/shop" : ""}/api/v1/histories/asc`;
      expect(server.requests).toEqual([path, path]);
    },
  );

  test("contain a SKU as one escaped segment", async () => {
    await using server = standIn(() => good(empty));
    await createClient(server.url).personalization("A/B é+%?#..");
    expect(server.requests).toEqual(["/api/v1/products/pz/A%2FB%20%C3%A9%2B%25%3F%23.."]);
  });
});

describe("an unusable response", () => {
  const only = (status: number) => `The service responded with status ${status}.`;
  const odd = "The service responded with status 200 but unexpected content.";
  test.each([
    ["a problem document", 400, '{"detail":"No."}', "bad_request", "No."],
    ["an error envelope", 404, '{"product":null,"shop":"","error":"Gone."}', "not_found", "Gone."],
    ["an error envelope with status 200", 200, '{"product":null,"shop":"","error":"Gone."}', "not_found", "Gone."],
    ["a proxy's error page", 502, "<h1>Bad Gateway</h1>", "unavailable", only(502)],
    ["a proxy's timeout", 504, "", "unavailable", only(504)],
    ["a rate limit", 429, '{"detail":"Slow down."}', "unavailable", "Slow down."],
    ["an error that is not text", 500, '{"error":{"a":1}}', "unexpected", only(500)],
    ["a product with an error status", 500, '{"product":{"id":1}}', "unexpected", only(500)],
    ["null", 500, "null", "unexpected", only(500)],
    ["an unrequested 304", 304, "", "unexpected", only(304)],
    ["a status without content", 204, "", "unexpected", only(204)],
    ["broken JSON", 200, '{"product":', "unexpected", odd],
    ["HTML", 200, "<html>", "unexpected", odd],
    ["other JSON", 200, "[]", "unexpected", odd],
    ["null with status 200", 200, "null", "unexpected", odd],
    ["a product of another shape", 200, '{"product":{"id":1},"shop":"a","error":null}', "unexpected", odd],
    ["503 without Retry-After", 503, "", "unavailable", only(503)],
  ] as const)("is reported with its request reference, and not cached: %s", async (_, status, body, code, message) => {
    const headers = { "X-Request-Id": "r-1", ETag: 'W/"1"' };
    await using server = standIn(
      () => new Response(status === 204 || status === 304 ? null : body, { status, headers }),
    );
    const client = createClient(server.url, { retries: 0 });
    const error = await errorOf(client.product(1));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code, status, message, requestId: "r-1" });
    await errorOf(client.product(1));
    expect(server.requests).toEqual(["/api/v1/products/1", "/api/v1/products/1"]);
    const isJson = body === "null" || /^[[{].*[\]}]$/.test(body);
    expect(error.cause instanceof SyntaxError).toBe(!isJson);
  });

  test("is returned by toResult only if it is a ProductDataError", async () => {
    expect(await toResult(Promise.resolve(1))).toEqual({ ok: true, value: 1 });
    const error = new ProductDataError("network", "No.");
    expect(await toResult(Promise.reject(error))).toEqual({ ok: false, error });
    expect(toResult(Promise.reject(new RangeError("a bug")))).rejects.toThrow(RangeError);
  });
});

const formWith = (style: object) => ({ sku_id: "MUG", locale: "en", styles: [style] });

test.each<[keyof source.Client, unknown[], object]>([
  ["personalization", ["MUG"], { pzlines: [], pzstyles: [] }],
  ["personalization", ["MUG"], { pzlines: [], pzstyles: {}, pzchoices: [] }],
  ["personalization", ["MUG"], { pzlines: [null], pzstyles: [], pzchoices: [] }],
  ["personalizations", [["MUG"]], { personalizations: [{ sku: "MUG", pzlines: [] }] }],
  ["personalizations", [["MUG"]], empty],
  ["form", ["en", "MUG"], formWith({ lines: [{}] })],
  ["form", ["en", "MUG"], formWith({ lines: [{ choices: ["Red"] }] })],
  ["form", ["en", "MUG"], formWith({})],
  ["histories", ["asc"], { histories: "none" }],
  ["productByHandle", ["mug"], { product: { variants: [] }, shop: "a", error: null }],
])("%s(...%j) does not accept %j", async (name, values, body) => {
  await using server = standIn(() => good(body));
  const call = createClient(server.url)[name] as (...values: unknown[]) => Promise<unknown>;
  expect(await errorOf(call(...values))).toMatchObject({ code: "unexpected", status: 200 });
});

describe("an unavailable service", () => {
  test.each([429, 502, 503, 504])("is retried after status %i, without Retry-After too", async (status) => {
    await using server = standIn(
      () => new Response("", { status }),
      () => new Response("", { status, headers: { "Retry-After": "0" } }),
      () => good(),
    );
    expect(await createClient(server.url).histories()).toEqual({ histories: [] });
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    [undefined, 3],
    [0, 1],
    [5, 6],
  ])("with retries %p gets %p requests", async (retries, requests) => {
    await using server = standIn(() => busy("0"));
    const error = await errorOf(createClient(server.url, { retries }).histories());
    expect(error).toMatchObject({ code: "unavailable", status: 503, requestId: "r-503", retryAfterMs: 0 });
    expect(error.message).toBe("The data store is unavailable. Try again later.");
    expect(server.requests).toHaveLength(requests);
  });

  test("is not retried if Retry-After exceeds the timeout", async () => {
    await using server = standIn(() => busy("2"), fine);
    const error = await errorOf(createClient(server.url, { timeoutMs: 1900 }).histories());
    expect(error).toMatchObject({ code: "unavailable", retryAfterMs: 2000 });
    expect(server.requests).toHaveLength(1);
  });

  test("is not retried after an abort during the delay", async () => {
    // Beyond the limit of a test.
    await using server = standIn(() => busy("3600"));
    const controller = new AbortController();
    const client = createClient(server.url, { timeoutMs: 7_200_000 });
    const call = errorOf(client.histories("asc", { signal: controller.signal }));
    await until("the request has arrived", () => server.requests.length > 0);
    await Bun.sleep(50);
    controller.abort();
    expect(await call).toMatchObject({ code: "aborted" });
    expect(server.requests).toHaveLength(1);
  });
});

describe("the retry delay", () => {
  const now = Date.parse("2026-03-08T06:30:00Z");

  test.each([
    [null, undefined],
    ["0", 0],
    ["5", 5000],
    ["", undefined],
    ["-5", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["2026-03-08T06:30:05Z", undefined],
    ["Sun, 08 Mar 2026 06:30:05 GMT", 5000],
    ["Sunday, 08-Mar-26 06:30:05 GMT", 5000],
    ["Sun, 08 Mar 2026 06:29:00 GMT", 0],
    ["never GMT", undefined],
  ])("for Retry-After %j is %p", (header, delayMs) => {
    expect(parseRetryAfter(header, now)).toBe(delayMs);
  });

  const first = { previousErrors: [], retries: 2, remainingMs: 10_000 };
  const down = { code: "unavailable", retryAfterMs: 5000 } as const;
  const cut = { code: "network", retryAfterMs: undefined } as const;
  test.each([
    ["a 503", down, first, 5000],
    ["a 503 without Retry-After", { ...down, retryAfterMs: undefined }, first, 312.5],
    [
      "a second 503 without Retry-After",
      { ...down, retryAfterMs: undefined },
      { ...first, previousErrors: ["unavailable"] },
      625,
    ],
    ["a second 503", down, { ...first, previousErrors: ["unavailable"] }, 5000],
    ["a third 503", down, { ...first, previousErrors: ["unavailable", "unavailable"] }, undefined],
    ["a 503 whose Retry-After exceeds the timeout", down, { ...first, remainingMs: 5000 }, undefined],
    ["a network failure", cut, first, 200],
    ["a network failure after a 503", cut, { ...first, previousErrors: ["unavailable"] }, 200],
    ["a second network failure", cut, { ...first, previousErrors: ["network"] }, undefined],
    ["a network failure near the timeout", cut, { ...first, remainingMs: 200 }, undefined],
    ["a network failure with retries disabled", cut, { ...first, retries: 0 }, undefined],
    ["another status with Retry-After", { code: "unexpected", retryAfterMs: 5000 }, first, undefined],
    ["a timeout", { code: "timeout", retryAfterMs: undefined }, first, undefined],
  ] as const)("after %s", (_, error, tries, delayMs) => {
    expect(retryDelayMs(error, tries, 0.25)).toBe(delayMs);
  });

  test("after a network failure is 100 to 500 ms", () => {
    expect([0, 1].map((chance) => retryDelayMs(cut, first, chance))).toEqual([100, 500]);
  });
});

describe("a broken connection", () => {
  const failing = {
    "before the response": (response: ServerResponse) => response.socket?.destroy(),
    "during the response": (response: ServerResponse) => {
      response.writeHead(200, { "Content-Length": 100 });
      response.write('{"histories":', () => response.socket?.destroy());
    },
  };

  /** A server that breaks its first connections. */
  async function breaking(times: number, fail: (response: ServerResponse) => unknown) {
    let requestCount = 0;
    const server = createServer((_, response) => {
      if (++requestCount <= times) fail(response);
      else response.end('{"histories":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { url, requestCount: () => requestCount, [Symbol.dispose]: () => server.close() };
  }

  test.concurrent.each(Object.entries(failing))("%s is retried once", async (_, fail) => {
    using server = await breaking(1, fail);
    expect(await createClient(server.url).histories()).toEqual({ histories: [] });
    expect(server.requestCount()).toBe(2);
  });

  test.concurrent.each(Object.entries(failing))("%s twice is reported", async (_, fail) => {
    using server = await breaking(2, fail);
    const error = await errorOf(createClient(server.url, { retries: 9 }).histories());
    expect(error).toMatchObject({ code: "network", status: undefined, requestId: undefined });
    expect(error.cause).toBeInstanceOf(Error);
    expect(server.requestCount()).toBe(2);
  });
});

describe("a call", () => {
  test.each([
    ["the client's", { timeoutMs: 80 }, {}],
    ["the call's own", {}, { timeoutMs: 80 }],
  ])("times out with %s timeout", async (_, options, call) => {
    await using server = standIn(hangs);
    const begun = performance.now();
    const error = await errorOf(createClient(server.url, options).histories("asc", call));
    expect(error).toMatchObject({ code: "timeout", message: "The service did not respond within 80 ms." });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(75);
    expect(server.requests).toHaveLength(1);
  });

  test("times out during the response body", async () => {
    const started = () => new Response(new ReadableStream({ start: (body) => body.enqueue("{") }));
    await using server = standIn(started);
    expect(await errorOf(createClient(server.url, { timeoutMs: 80 }).histories())).toMatchObject({ code: "timeout" });
  });

  test.each([Number.POSITIVE_INFINITY, 2 ** 31])(
    "accepts a timeout beyond the timer limit: %p ms",
    async (timeoutMs) => {
      await using server = standIn(() => Bun.sleep(20).then(() => good()));
      expect(await createClient(server.url, { timeoutMs }).histories()).toEqual({ histories: [] });
    },
  );

  test("is aborted by its signal without affecting other calls", async () => {
    await using server = standIn(hangs, () => good());
    const controller = new AbortController();
    const client = createClient(server.url);
    const call = errorOf(client.histories("asc", { signal: controller.signal }));
    await until("the request has arrived", () => server.requests.length > 0);
    const other = client.histories("desc", {});
    controller.abort("enough");
    expect(await call).toMatchObject({ code: "aborted", cause: "enough" });
    expect(await other).toEqual({ histories: [] });
  });

  test("is not sent if its signal is already aborted", async () => {
    await using server = standIn(() => good());
    const error = await errorOf(createClient(server.url).histories("asc", { signal: AbortSignal.abort("before") }));
    expect(error).toMatchObject({ code: "aborted", cause: "before" });
    expect(server.requests).toEqual([]);
  });

  test("leaves no listeners on a long-lived signal", async () => {
    const { signal } = new AbortController();
    const kept = new Set<unknown>();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (name: string, listener: EventListener) => {
      kept.add(listener);
      addEventListener.call(signal, name, listener);
    };
    signal.removeEventListener = (name: string, listener: EventListener) => {
      kept.delete(listener);
      removeEventListener.call(signal, name, listener);
    };
    await using server = standIn(() => good());
    let most = 0;
    const asking = (url: string, init: RequestInit) => {
      most = Math.max(most, kept.size);
      return fetch(url, init);
    };
    for (let calls = 0; calls < 3; calls++)
      await createClient(server.url, { fetch: asking }).histories("asc", { signal });
    expect([most, kept.size]).toEqual([1, 0]);
  });
});

describe("a response with an entity tag", () => {
  const tagged = (tag: string, brand: string) => () =>
    good({ histories: [{ brand, counts: 1, created_at: "2026-03-08T06:30:00Z" }] }, { ETag: tag });
  const unchanged = () => new Response(null, { status: 304, headers: { ETag: 'W/"1"' } });
  const path = "/api/v1/histories/desc";

  test("is reused until the service sends a new one", async () => {
    const replies = [tagged('W/"1"', "a"), unchanged, unchanged, tagged('W/"2"', "b"), unchanged];
    await using server = standIn(...replies);
    const client = createClient(server.url);
    const brands: unknown[] = [];
    for (const _ of replies) brands.push((await client.histories()).histories[0]?.brand);
    expect(brands).toEqual(["a", "a", "a", "b", "b"]);
    expect(server.requests).toEqual([path, `${path} W/"1"`, `${path} W/"1"`, `${path} W/"1"`, `${path} W/"2"`]);
  });

  test("is a new object for each call", async () => {
    await using server = standIn(tagged('W/"1"', "a"), unchanged);
    const client = createClient(server.url);
    const first = await client.histories();
    first.histories.length = 0;
    const second = await client.histories();
    expect(second.histories).toHaveLength(1);
    second.histories.length = 0;
    expect((await client.histories()).histories).toHaveLength(1);
  });

  test("stays cached after unusable responses", async () => {
    await using server = standIn(
      tagged('W/"1"', "a"),
      () => busy(),
      () => good({ b: 1 }, { ETag: 'W/"x"' }),
      unchanged,
    );
    const client = createClient(server.url, { retries: 0 });
    await client.histories();
    await errorOf(client.histories());
    await errorOf(client.histories());
    expect((await client.histories()).histories[0]?.brand).toBe("a");
    expect(server.requests.at(-1)).toBe(`${path} W/"1"`);
  });

  test("is evicted when least recently used", async () => {
    await using server = standIn(({ headers }) =>
      headers.has("If-None-Match") ? unchanged() : good(empty, { ETag: 'W/"1"' }),
    );
    const client = createClient(server.url, { cacheSize: 2 });
    for (const sku of ["a", "b", "a", "c", "a", "b"]) await client.personalization(sku);
    const names = server.requests.map((request) => request.replace("/api/v1/products/pz/", ""));
    expect(names).toEqual(["a", "b", 'a W/"1"', "c", 'a W/"1"', "b"]);
  });

  test("is not cached with a cache size of 0; untagged responses are never cached", async () => {
    await using server = standIn(tagged('W/"1"', "a"));
    await using untagged = standIn(() => good());
    const clients = [createClient(server.url, { cacheSize: 0 }), createClient(untagged.url)];
    for (const client of [...clients, ...clients]) await client.histories();
    expect([...server.requests, ...untagged.requests]).toEqual([path, path, path, path]);
  });
});

/** Any JSON value, including strings that look like markers and integers beyond the safe range. */
const markerLike = fc.string({ unit: fc.constantFrom("#", "\\", '"', "1", "-", "n", ":", "\n", "é"), maxLength: 6 });
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, "9007199254740993", "#9007199254740993", 1e30, 0.5),
    markerLike,
    fc.maxSafeInteger(),
    fc.bigInt().filter((number) => !Number.isSafeInteger(Number(number))),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(markerLike, tie("value"), { maxKeys: 5 }),
  ),
})).value;

describe("parsing JSON with bigints, with and without source access", () => {
  /** The same JSON with escapes in its strings and spaces before colons. */
  const respelled = (text: string) =>
    text.replace(/("(?:[^"\\]|\\.)*")(:?)/g, (_, string: string, colon: string) => {
      const escaped = string.replace(/(?<!\\)#/g, "\\u0023").replaceAll("é", "\\u00e9");
      return colon === "" ? escaped : `${escaped} \n:`;
    });
  const outcome = (parse: (text: string) => unknown, text: string) => {
    try {
      return { value: parse(text) };
    } catch (error) {
      return (error as Error).name;
    }
  };

  test("gives the same values as the service's parser", () => {
    fc.assert(
      fc.property(value, (original) => {
        const text = toJson(original);
        for (const spelled of [text, respelled(text)]) {
          const expected = parseJson(spelled);
          expect(parseBigints(spelled)).toEqual(expected);
          expect(parseWithMarkers(spelled)).toEqual(expected);
        }
        expect(parseWithMarkers(text)).toEqual(original);
      }),
      { numRuns: 500 },
    );
  });

  test("rejects invalid JSON", () => {
    const pieces = fc.constantFrom(...'{}[]",:\\# -.e0n', "12345678901234567890", '"a"', "true");
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (soup) => {
        const text = soup.join("");
        expect(outcome(parseWithMarkers, text)).toEqual(outcome(parseJson, text));
      }),
      { numRuns: 3000 },
    );
  });

  test.each(['"\\12345678901234567890', "012345678901234567890", "[12345678901234567890,]"])("rejects %s", (text) => {
    expect(() => parseBigints(text)).toThrow(SyntaxError);
    expect(() => parseWithMarkers(text)).toThrow(SyntaxError);
  });

  test.each([
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740993", -9007199254740993n],
    ["12345678901234567890.5", Number("12345678901234567890.5")],
    ["12345678901234567890e0", Number("12345678901234567890e0")],
    ['{"#9007199254740993":"\\u0023\\u0039007199254740993"}', { "#9007199254740993": "#9007199254740993" }],
    ['["\\"",9007199254740993]', ['"', 9007199254740993n]],
  ])("parses %s", (text, expected) => {
    expect([parseBigints(text), parseWithMarkers(text)]).toEqual([expected, expected]);
  });
});

/**
 * Possible responses for one SKU: unique style codes, with any number of lines and choices in any
 * order.
 */
const code = (letters: string) => fc.constantFrom(...letters);
const sequence = fc.constantFrom("1", "02", "10", "x", "");
const lists = fc.record({
  pzlines: fc.uniqueArray(
    fc.record({
      sku_id: fc.constant("MUG"),
      style_code: code("ABCDE"),
      style_display_seq: sequence,
      style_sku_status: code("AI"),
    }),
    { selector: ({ style_code }) => style_code },
  ),
  pzstyles: fc.array(
    fc.record({
      style_code: code("ABCDE"),
      line_status: code("AI"),
      line_display_seq: sequence,
      choice_type: code("tuvwxyz"),
      instruct_text: fc.string({ maxLength: 3 }),
    }),
  ),
  pzchoices: fc.array(
    fc.record({
      choice_type: code("tuvwxyz"),
      choice_status: code("AI"),
      choice_display_seq: sequence,
      choice_value: fc.string({ maxLength: 3 }),
    }),
  ),
});

describe("the form of a SKU", () => {
  test("keeps the order of unsorted lists and all referenced rows, and does not modify its input", () => {
    fc.assert(
      fc.property(lists, (any) => {
        const before = structuredClone(any);
        const form = toForm(any);
        expect(any).toEqual(before);
        expect(form.map(({ lines: _, ...line }) => line)).toEqual(any.pzlines);
        for (const style of form) {
          const lines = style.lines.map(({ choices: _, ...line }) => line);
          expect(lines).toEqual(any.pzstyles.filter(({ style_code }) => style_code === style.style_code));
          for (const { choice_type, choices } of style.lines) {
            expect(choices).toEqual(any.pzchoices.filter((choice) => choice.choice_type === choice_type));
          }
        }
      }),
    );
  });
});

/**
 * Exercises the built package in any runtime. It is sent as source text, so it uses only its
 * arguments.
 */
async function tour(client: typeof source, urls: { service: string; standIn: string; unreachable: string }) {
  const errorOf = (call: Promise<unknown>) =>
    client.toResult(call).then(({ error }) => [error?.code, error?.status, error instanceof client.ProductDataError]);
  const real = client.createClient(urls.service, { bigints: true });
  const other = client.createClient(urls.standIn, { cacheSize: 5 });
  const byDefault = client.createClient(urls.standIn);
  const missing = await client.toResult(real.product(12));
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  return {
    title: (await real.product(6781204660224)).product.title,
    ids: (await real.product("9007199254740993")).product.variants.map(({ product_id }) => `${product_id}`),
    form: client.toForm(await real.personalization("TM814935W")).map(({ lines }) => lines.length),
    missing: [missing.error?.code, missing.error?.message.endsWith(missing.error.requestId ?? "?")],
    first: await other.personalization("tagged"),
    second: await other.personalization("tagged"),
    timeout: await errorOf(other.personalization("hangs", { timeoutMs: 50 })),
    aborted: await errorOf(other.personalization("hangs", { signal: controller.signal })),
    unreachable: await errorOf(client.createClient(urls.unreachable).histories()),
    default: [await byDefault.personalization("default"), await byDefault.personalization("default")],
  };
}

describe("the built package", () => {
  const file = join(home, "dist", "index.js");
  const offers = (style_code: string, tag?: string) =>
    good({ ...empty, pzlines: [{ style_code }] }, tag === undefined ? {} : { ETag: tag });
  const replies: Record<string, Reply> = {
    "": () => new Response("<!doctype html><link rel=icon href=data:,>", { headers: { "Content-Type": "text/html" } }),
    "client.js": () => new Response(Bun.file(file)),
    tagged: ({ headers }) =>
      headers.has("If-None-Match") ? new Response(null, { status: 304 }) : offers("B", 'W/"1"'),
    hangs,
    default: ({ headers }) =>
      headers.has("If-None-Match") ? new Response(null, { status: 304 }) : good(empty, { ETag: 'W/"1"' }),
  };
  const byName: Reply = (request) =>
    replies[request.url.slice(request.url.lastIndexOf("/") + 1)]?.(request) ?? new Response("", { status: 404 });
  const server = standIn(byName);
  afterAll(() => server[Symbol.asyncDispose]());
  const urls = { service: service.url, standIn: server.url, unreachable: "http://127.0.0.1:1" };
  const invocation = `(${tour})(client, ${JSON.stringify(urls)})`;

  const path = "/api/v1/products/pz";
  const tagged = [`${path}/tagged`, `${path}/tagged W/"1"`];
  const byDefault = [`${path}/default`, `${path}/default W/"1"`];

  interface Runtime {
    readonly run: () => Promise<unknown>;
    readonly requests: string[];
  }
  const runtimes: Record<string, Runtime> = {
    Bun: { requests: [...tagged, ...byDefault], run: async () => await tour(await import(file), urls) },
    Node: {
      requests: [...tagged, ...byDefault],
      run: async () => {
        const script = `import * as client from "product-data-client"; console.log(JSON.stringify(await ${invocation}))`;
        return JSON.parse(await node("tour.mjs", script));
      },
    },
    Chromium: {
      // Across origins, the client's If-None-Match needs a preflight request; the browser's own
      // does not.
      requests: [...tagged.toSpliced(1, 0, `OPTIONS ${path}/tagged`), ...byDefault],
      run: async () => {
        await using opened = await openPage(browser, server.url.replace("127.0.0.1", "localhost"));
        return await opened.page.evaluate(`import("/client.js").then((client) => ${invocation})`);
      },
    },
  };

  test.each(Object.entries(runtimes))("works in %s", async (_, { requests, run }) => {
    expect(JSON.parse(JSON.stringify(await run()))).toEqual({
      title: "Marlowe Platinum 5-Piece Place Setting",
      ids: ["9007199254740993"],
      form: [2],
      missing: ["not_found", true],
      first: { ...empty, pzlines: [{ style_code: "B" }] },
      second: { ...empty, pzlines: [{ style_code: "B" }] },
      timeout: ["timeout", null, true],
      aborted: ["aborted", null, true],
      unreachable: ["network", null, true],
      default: [empty, empty],
    });
    expect(server.requests.splice(0).filter((request) => /default|tagged/.test(request))).toEqual(requests);
  });

  test("does not keep the process alive after an abort during a retry delay", async () => {
    // Beyond the limit of a test.
    await using waiting = standIn(() => busy("3600"));
    const script = `import { createClient } from "product-data-client";
      const signal = AbortSignal.timeout(100);
      const client = createClient("${waiting.url}", { timeoutMs: 7_200_000 });
      await client.histories("asc", { signal }).catch(({ code }) => console.log(code));`;
    expect(await node("abort.mjs", script)).toBe("aborted\n");
  });

  test("has a source map with its sources", async () => {
    const map = JSON.parse(await readFile(`${file}.map`, "utf8")) as { sources: string[]; sourcesContent: string[] };
    expect(await readFile(file, "utf8")).toContain("//# sourceMappingURL=index.js.map");
    expect(map.sources.some((source) => source.endsWith("src/client.ts"))).toBeTrue();
    expect(map.sourcesContent.join("")).toContain("export function createClient");
  });

  test("is at most 3,000 bytes compressed", async () => {
    expect(gzipSync(await readFile(file), { level: 9 }).length).toBeLessThanOrEqual(3000);
  });

  test("imports nothing, and exports only its public names", async () => {
    const text = await readFile(file, "utf8");
    expect(new Bun.Transpiler({ loader: "js" }).scanImports(text)).toEqual([]);
    expect(Object.keys(await import(file)).sort()).toEqual(["ProductDataError", "createClient", "toForm", "toResult"]);
  });

  test("has the same version as the service", async () => {
    const [own, whole] = await Promise.all(
      [packageFolder, root].map((at) => Bun.file(join(at, "package.json")).json()),
    );
    expect(own.version).toBe(whole.version);
    expect(own).not.toHaveProperty("dependencies");
  });
});

/**
 * Runs a module with Node next to the installed package.
 * @returns its output, or the error output if it failed
 */
async function node(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  const child = Bun.spawn(["node", name], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return exitCode === 0 ? stdout : stderr;
}

describe("the package README", async () => {
  const readme = await readFile(join(packageFolder, "README.md"), "utf8");
  const examples = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text = ""]) => text);

  let printed: string[];
  beforeAll(async () => {
    const here = examples.map((text) => text.replaceAll("http://127.0.0.1:3000", service.url));
    printed = await Promise.all(here.map((text, index) => node(`example-${index}.mjs`, text)));
  });

  test.each(examples.entries().toArray())("example %i prints the output in its comments", (index, text) => {
    const expected = [...text.matchAll(/\/\/ (.*)$/gm)].map(([, line = ""]) => line);
    expect(expected).not.toBeEmpty();
    expect(printed[index]?.trimEnd().split("\n")).toEqual(expected);
  });

  test("examples type-check against the declarations alone", async () => {
    await Promise.all(examples.map((text, index) => writeFile(join(folder, `example-${index}.mts`), text)));
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true },
      ...{ target: "es2022", lib: ["es2022", "dom"], types: [], module: "nodenext" },
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
    const child = Bun.spawn([join(root, "node_modules", ".bin", "tsc"), "-p", folder], { stdout: "pipe" });
    expect(await child.stdout.text()).toBe("");
    expect(await child.exited).toBe(0);
  });
});
