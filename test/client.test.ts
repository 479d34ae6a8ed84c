import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { build } from "../packages/client/build.ts";
import * as source from "../packages/client/src/index.ts";
import { parseBigints, parseByMarks } from "../packages/client/src/json.ts";
import { parseRetryAfter, retryDelayMs } from "../packages/client/src/retry.ts";
import type { historiesSchema } from "../src/history.ts";
import { parseJson, toJson } from "../src/json.ts";
import { orderPersonalization, type personalizationSchema } from "../src/personalization.ts";
import type { Id, ProductAnswer } from "../src/product.ts";
import { openPage, startBrowser } from "./support/browser.ts";
import { toProduct } from "./support/catalog.ts";
import { pds, root, serve, temporaryFolder, writeFiles } from "./support/pds.ts";
import { until } from "./support/until.ts";

const { createClient, ProductDataError, toForm, toResult } = source;

// The plain interfaces of the package are the types of the contract; the compiler sees to that.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Found = { [Field in keyof ProductAnswer]: Field extends "error" ? null : NonNullable<ProductAnswer[Field]> };
type Answered<Client extends source.Client<Id>> = Awaited<ReturnType<Client["product"]>>["product"]["id"];
const exact = () => createClient("", { bigints: true });
const rounded = () => createClient("", { retries: 0 });
true satisfies Same<source.Personalization, import("zod").infer<typeof personalizationSchema>>;
true satisfies Same<source.Histories, import("zod").infer<typeof historiesSchema>>;
true satisfies Same<source.FoundProduct<Id>, Found>;
true satisfies Same<Answered<ReturnType<typeof exact>>, number | bigint>;
true satisfies Same<Answered<ReturnType<typeof rounded>>, number>;

const folder = await temporaryFolder();
const home = join(folder, "node_modules", "product-data-client");
const packageFolder = join(root, "packages", "client");
const big = toProduct(9007199254740993n);

/** The package as it is installed. */
async function install(): Promise<void> {
  await mkdir(home, { recursive: true });
  await Promise.all([
    build(join(home, "dist")),
    copyFile(join(packageFolder, "package.json"), join(home, "package.json")),
  ]);
}

/** The service with the sample and one product whose identifiers are beyond 2^53. */
async function startService() {
  const environment = {
    DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
    SHOP_DOMAIN: "larkspur-finch.example",
    BRAND: "Larkspur & Finch",
  };
  const [extra = ""] = await writeFiles(folder, { "big.ndjson": `${toJson(big)}\n` });
  const imported = await pds(["import", "products", "sample/products.ndjson", extra], environment);
  if (imported.code !== 0) throw new Error(imported.stderr);
  await pds(["import", "personalization", "sample/personalization"], environment);
  return await serve(environment);
}

const [browser, service] = await Promise.all([startBrowser(), startService(), install()]);
afterAll(() => service.stop());

type Reply = (request: Request) => Response | Promise<Response>;

interface StandIn extends AsyncDisposable {
  readonly url: string;
  /** What came so far: path, and entity tag if there was one. */
  readonly requests: string[];
}

const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "*",
  "Access-Control-Expose-Headers": "ETag, X-Request-Id, Retry-After",
};

/** Answers one request by each reply in turn, and every further one by the last. */
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
const busy = (retryAfter?: string) =>
  new Response('{"detail":"The data cannot be reached at the moment."}', {
    status: 503,
    headers: { "X-Request-Id": "r-503", ...(retryAfter !== undefined && { "Retry-After": retryAfter }) },
  });
const hangs = () => new Promise<Response>(() => {});

/** What a call is rejected with. */
async function errorOf(call: Promise<unknown>): Promise<source.ProductDataError> {
  const { error } = await toResult(call);
  if (error === undefined) throw new Error("it was answered");
  return error;
}

describe("the client, against the service,", () => {
  const client = createClient(service.url);

  test("answers what a SKU offers", async () => {
    const { pzlines, pzstyles } = await client.personalization("TM814935W");
    expect(pzlines.map(({ style_code }) => style_code)).toEqual(["LASFAM"]);
    expect(pzstyles).toHaveLength(2);
  });

  test.each(["nothing there", "a/b", "../histories/asc", "100%", "a?b#c", "é+"])(
    "answers three empty lists for the unknown SKU %j",
    async (sku) => {
      expect(await client.personalization(sku)).toEqual(empty);
    },
  );

  test("answers the history, the newest first unless asked otherwise", async () => {
    const { histories } = await client.histories("asc");
    expect(histories.length).toBeGreaterThan(1);
    expect((await client.histories()).histories).toEqual((await client.histories("desc")).histories);
    expect((await client.histories("desc")).histories).toEqual(histories.toReversed());
  });

  test.each(["6781204660224", 6781204660224, 6781204660224n])("answers the product %p", async (id) => {
    const { product, shop, error } = await client.product(id);
    expect([product.id, shop, error]).toEqual([6781204660224, "larkspur-finch.example", null]);
  });

  test("tells of a product that is not there, with the request reference", async () => {
    const error = await errorOf(client.product(12));
    expect(error).toMatchObject({ name: "ProductDataError", code: "not_found", status: 404, retryAfterMs: undefined });
    expect(error.requestId).toMatch(/^[\w.:=+/@-]{1,128}$/);
    expect(error.message).toEndWith(`please include this id: ${error.requestId}`);
  });

  test.each(["abc", "0", -1, 2n ** 63n, "pz", "1/2", "../histories"])("tells that %p is no product id", async (id) => {
    const error = await errorOf(client.product(id));
    expect(error).toMatchObject({ code: "bad_request", status: 400 });
    expect(error.message).toContain("expected String to be a id");
  });

  test("gives integers beyond 2^53 exactly with bigints, and rounded without", async () => {
    const exactly = createClient(service.url, { bigints: true });
    expect((await exactly.product("9007199254740993")).product).toEqual(big);
    expect((await exactly.product(9007199254740993n)).product.id).toBe(9007199254740993n);
    expect((await exactly.product(6781204660224)).product.id).toBe(6781204660224);
    expect((await client.product(9007199254740993n)).product.id).toBe(9007199254740992);
  });

  test("tells that there is no such operation where the address is wrong", async () => {
    const error = await errorOf(createClient(`${service.url}/elsewhere`).histories());
    expect(error).toMatchObject({ code: "not_found", status: 404 });
    expect(error.message).toContain("There is nothing at this address");
  });
});

describe("the client refuses, before anything is sent,", () => {
  const client = createClient("http://127.0.0.1:1");

  test.each([2 ** 53, -(2 ** 53), 1e21, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "%p as a product id",
    async (id) => {
      const error = await errorOf(client.product(id));
      expect(error).toMatchObject({ code: "bad_request", status: undefined });
      expect(error.message).toBe(`${id} is not exact as a product id: beyond 2^53 it must be a string or a bigint.`);
    },
  );

  test.each(["", ".", "..", "\ud800"])("%j as a SKU or a product id", async (text) => {
    for (const call of [client.personalization(text), client.product(text)]) {
      const error = await errorOf(call);
      expect(error).toMatchObject({ code: "bad_request", status: undefined });
      expect(error.message).toContain(JSON.stringify(text));
    }
  });
});

describe("the client's addresses", () => {
  test.each(["", "/", "/shop", "/shop/", "/shop//"])("begin with the base, whatever its end: %j", async (end) => {
    await using server = standIn(() => good());
    await createClient(new URL(server.url).origin + end).histories("asc");
    await createClient(new URL(end, server.url)).histories("asc");
    const path = `${end.startsWith("/s") ? "/shop" : ""}/api/v1/histories/asc`;
    expect(server.requests).toEqual([path, path]);
  });

  test("hold a SKU as one segment, escaped", async () => {
    await using server = standIn(() => good(empty));
    await createClient(server.url).personalization("A/B é+%?#..");
    expect(server.requests).toEqual(["/api/v1/products/pz/A%2FB%20%C3%A9%2B%25%3F%23.."]);
  });
});

describe("an answer that cannot be used", () => {
  test.each([
    ["a problem", 400, '{"detail":"No."}', "bad_request", "No."],
    ["an envelope", 404, '{"product":null,"shop":"","error":"Gone."}', "not_found", "Gone."],
    ["an envelope that says so with 200", 200, '{"product":null,"shop":"","error":"Gone."}', "not_found", "Gone."],
    ["a page of a proxy", 502, "<h1>Bad Gateway</h1>", "unexpected", "The service answered 502."],
    ["an error of another kind", 500, '{"error":{"a":1}}', "unexpected", "The service answered 500."],
    ["a product, with a bad status", 500, '{"product":{"id":1}}', "unexpected", "The service answered 500."],
    ["null", 500, "null", "unexpected", "The service answered 500."],
    ["a 304 that nobody asked for", 304, "", "unexpected", "The service answered 304."],
    ["nothing, with a good status", 204, "", "unexpected", "The service answered 204."],
    ["broken JSON", 200, '{"product":', "unexpected", "The service answered 200, but not what was asked for."],
    ["no JSON", 200, "<html>", "unexpected", "The service answered 200, but not what was asked for."],
    ["other JSON", 200, "[]", "unexpected", "The service answered 200, but not what was asked for."],
    ["null, with a good status", 200, "null", "unexpected", "The service answered 200, but not what was asked for."],
    ["unavailability without a time", 503, "", "unavailable", "The service answered 503."],
  ] as const)("is told with its reference, and is not asked for again: %s", async (_, status, body, code, message) => {
    const headers = { "X-Request-Id": "r-1", ETag: 'W/"1"' };
    await using server = standIn(
      () => new Response(status === 204 || status === 304 ? null : body, { status, headers }),
    );
    const client = createClient(server.url);
    const error = await errorOf(client.product(1));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code, status, message, requestId: "r-1" });
    await errorOf(client.product(1));
    expect(server.requests).toEqual(["/api/v1/products/1", "/api/v1/products/1"]);
    const isJson = body === "null" || /^[[{].*[\]}]$/.test(body);
    expect(error.cause instanceof SyntaxError).toBe(!isJson);
  });

  test("is told by toResult only when it is the client's own error", async () => {
    expect(await toResult(Promise.resolve(1))).toEqual({ ok: true, value: 1 });
    const error = new ProductDataError("network", "No.");
    expect(await toResult(Promise.reject(error))).toEqual({ ok: false, error });
    expect(toResult(Promise.reject(new RangeError("a bug")))).rejects.toThrow(RangeError);
  });
});

describe("a service that is unavailable", () => {
  test("is asked again when it said, by seconds or by date", async () => {
    const date = new Date(Math.ceil(Date.now() / 1000 + 0.2) * 1000);
    await using bySeconds = standIn(
      () => busy("1"),
      () => good(),
    );
    await using byDate = standIn(
      () => busy(date.toUTCString()),
      () => good(),
    );
    const begun = performance.now();
    const afterMs = async (server: StandIn) => {
      await createClient(server.url).histories();
      return performance.now() - begun;
    };
    const [secondsMs, dateEnded] = await Promise.all([afterMs(bySeconds), afterMs(byDate).then(() => Date.now())]);
    expect(secondsMs).toBeWithin(980, 1500);
    expect(dateEnded).toBeWithin(date.getTime() - 20, date.getTime() + 500);
    expect([bySeconds.requests.length, byDate.requests.length]).toEqual([2, 2]);
  });

  test.each([
    [undefined, 3],
    [0, 1],
    [5, 6],
  ])("is asked again %p times at most", async (retries, asked) => {
    await using server = standIn(() => busy("0"));
    const error = await errorOf(createClient(server.url, { retries }).histories());
    expect(error).toMatchObject({ code: "unavailable", status: 503, requestId: "r-503", retryAfterMs: 0 });
    expect(error.message).toBe("The data cannot be reached at the moment.");
    expect(server.requests).toHaveLength(asked);
  });

  test("is not waited for when the call's time does not allow that", async () => {
    await using server = standIn(
      () => busy("2"),
      () => good(),
    );
    const begun = performance.now();
    const error = await errorOf(createClient(server.url, { timeoutMs: 1900 }).histories());
    expect(error).toMatchObject({ code: "unavailable", retryAfterMs: 2000 });
    expect(performance.now() - begun).toBeLessThan(500);
  });

  test("is not asked again after an abort within the wait", async () => {
    await using server = standIn(
      () => busy("1"),
      () => good(),
    );
    const controller = new AbortController();
    const call = errorOf(createClient(server.url).histories("asc", { signal: controller.signal }));
    await until("it was asked", () => server.requests.length > 0);
    await Bun.sleep(50);
    const begun = performance.now();
    controller.abort();
    expect(await call).toMatchObject({ code: "aborted" });
    expect(performance.now() - begun).toBeLessThan(500);
  });
});

describe("the wait before the next try", () => {
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
  ])("that Retry-After %j asks for is %p", (header, waitMs) => {
    expect(parseRetryAfter(header, now)).toBe(waitMs);
  });

  const calm = { past: [], retries: 2, leftMs: 10_000 };
  const down = { code: "unavailable", retryAfterMs: 5000 } as const;
  const cut = { code: "network", retryAfterMs: undefined } as const;
  test.each([
    ["unavailable", down, calm, 5000],
    ["unavailable, without a time", { ...down, retryAfterMs: undefined }, calm, undefined],
    ["unavailable for the second time", down, { ...calm, past: ["unavailable"] }, 5000],
    ["unavailable for the third time", down, { ...calm, past: ["unavailable", "unavailable"] }, undefined],
    ["unavailable, for longer than there is time", down, { ...calm, leftMs: 5000 }, undefined],
    ["a network failure", cut, calm, 200],
    ["a network failure after unavailability", cut, { ...calm, past: ["unavailable"] }, 200],
    ["a second network failure", cut, { ...calm, past: ["network"] }, undefined],
    ["a network failure, without time", cut, { ...calm, leftMs: 200 }, undefined],
    ["a network failure, without retries", cut, { ...calm, retries: 0 }, undefined],
    ["another status with a time", { code: "unexpected", retryAfterMs: 5000 }, calm, undefined],
    ["a time-out", { code: "timeout", retryAfterMs: undefined }, calm, undefined],
  ] as const)("after %s", (_, error, tries, delayMs) => {
    expect(retryDelayMs(error, tries, 0.25)).toBe(delayMs);
  });

  test("after a network failure is 100 to 500 ms", () => {
    expect([0, 1].map((chance) => retryDelayMs(cut, calm, chance))).toEqual([100, 500]);
  });
});

describe("a connection that breaks", () => {
  const failing = {
    "before the answer": (response: ServerResponse) => response.socket?.destroy(),
    "within the answer": (response: ServerResponse) => {
      response.writeHead(200, { "Content-Length": 100 });
      response.write('{"histories":', () => response.socket?.destroy());
    },
  };

  /** Breaks its first connections. */
  async function breaking(times: number, fail: (response: ServerResponse) => unknown) {
    let asked = 0;
    const server = createServer((_, response) => {
      if (++asked <= times) fail(response);
      else response.end('{"histories":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { url, asked: () => asked, [Symbol.dispose]: () => server.close() };
  }

  test.concurrent.each(Object.entries(failing))("%s is tried once more", async (_, fail) => {
    using server = await breaking(1, fail);
    expect(await createClient(server.url).histories()).toEqual({ histories: [] });
    expect(server.asked()).toBe(2);
  });

  test.concurrent.each(Object.entries(failing))("%s and again is told", async (_, fail) => {
    using server = await breaking(2, fail);
    const error = await errorOf(createClient(server.url, { retries: 9 }).histories());
    expect(error).toMatchObject({ code: "network", status: undefined, requestId: undefined });
    expect(error.cause).toBeInstanceOf(Error);
    expect(server.asked()).toBe(2);
  });
});

describe("a call", () => {
  test.each([
    ["the client's", { timeoutMs: 80 }, {}],
    ["its own", {}, { timeoutMs: 80 }],
  ])("ends when its time is over: %s", async (_, options, call) => {
    await using server = standIn(hangs);
    const begun = performance.now();
    const error = await errorOf(createClient(server.url, options).histories("asc", call));
    expect(error).toMatchObject({ code: "timeout", message: "The service did not answer within 80 ms." });
    expect(performance.now() - begun).toBeWithin(75, 600);
    expect(server.requests).toHaveLength(1);
  });

  test("ends when its time is over within the answer", async () => {
    const started = () => new Response(new ReadableStream({ start: (body) => body.enqueue("{") }));
    await using server = standIn(started);
    expect(await errorOf(createClient(server.url, { timeoutMs: 80 }).histories())).toMatchObject({ code: "timeout" });
  });

  test.each([Number.POSITIVE_INFINITY, 2 ** 31])("may have all the time there is: %p ms", async (timeoutMs) => {
    await using server = standIn(() => Bun.sleep(20).then(() => good()));
    expect(await createClient(server.url, { timeoutMs }).histories()).toEqual({ histories: [] });
  });

  test("ends when its signal says so, and not the other calls", async () => {
    await using server = standIn(hangs, () => good());
    const controller = new AbortController();
    const client = createClient(server.url);
    const call = errorOf(client.histories("asc", { signal: controller.signal }));
    await until("it was asked", () => server.requests.length > 0);
    const other = client.histories("desc", {});
    controller.abort("enough");
    expect(await call).toMatchObject({ code: "aborted", cause: "enough" });
    expect(await other).toEqual({ histories: [] });
  });

  test("is not sent when its signal has ended before", async () => {
    await using server = standIn(() => good());
    const error = await errorOf(createClient(server.url).histories("asc", { signal: AbortSignal.abort("before") }));
    expect(error).toMatchObject({ code: "aborted", cause: "before" });
    expect(server.requests).toEqual([]);
  });

  test("leaves nothing behind on a signal that lives on", async () => {
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

describe("an answer with an entity tag", () => {
  const tagged = (tag: string, brand: string) => () =>
    good({ histories: [{ brand, counts: 1, created_at: "2026-03-08T06:30:00Z" }] }, { ETag: tag });
  const unchanged = () => new Response(null, { status: 304, headers: { ETag: 'W/"1"' } });
  const path = "/api/v1/histories/desc";

  test("is used again while the service says that it is right, and then is followed by the next", async () => {
    const replies = [tagged('W/"1"', "a"), unchanged, unchanged, tagged('W/"2"', "b"), unchanged];
    await using server = standIn(...replies);
    const client = createClient(server.url);
    const brands: unknown[] = [];
    for (const _ of replies) brands.push((await client.histories()).histories[0]?.brand);
    expect(brands).toEqual(["a", "a", "a", "b", "b"]);
    expect(server.requests).toEqual([path, `${path} W/"1"`, `${path} W/"1"`, `${path} W/"1"`, `${path} W/"2"`]);
  });

  test("is each caller's own", async () => {
    await using server = standIn(tagged('W/"1"', "a"), unchanged);
    const client = createClient(server.url);
    const first = await client.histories();
    first.histories.length = 0;
    const second = await client.histories();
    expect(second.histories).toHaveLength(1);
    second.histories.length = 0;
    expect((await client.histories()).histories).toHaveLength(1);
  });

  test("is kept through answers that cannot be used", async () => {
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

  test("is kept while it is among those that were used last", async () => {
    await using server = standIn(({ headers }) =>
      headers.has("If-None-Match") ? unchanged() : good(empty, { ETag: 'W/"1"' }),
    );
    const client = createClient(server.url, { remember: 2 });
    for (const sku of ["a", "b", "a", "c", "a", "b"]) await client.personalization(sku);
    const names = server.requests.map((request) => request.replace("/api/v1/products/pz/", ""));
    expect(names).toEqual(["a", "b", 'a W/"1"', "c", 'a W/"1"', "b"]);
  });

  test("is not kept by a client that is to remember none, nor without a tag", async () => {
    await using server = standIn(tagged('W/"1"', "a"));
    await using untagged = standIn(() => good());
    const clients = [createClient(server.url, { remember: 0 }), createClient(untagged.url)];
    for (const client of [...clients, ...clients]) await client.histories();
    expect([...server.requests, ...untagged.requests]).toEqual([path, path, path, path]);
  });
});

/** Any JSON value, with strings that look like the marks of the way without source, and integers beyond the exact ones. */
const marks = fc.string({ unit: fc.constantFrom("#", "\\", '"', "1", "-", "n", ":", "\n", "é"), maxLength: 6 });
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, "9007199254740993", "#9007199254740993", 1e30, 0.5),
    marks,
    fc.maxSafeInteger(),
    fc.bigInt().filter((number) => !Number.isSafeInteger(Number(number))),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(marks, tie("value"), { maxKeys: 5 }),
  ),
})).value;

describe("JSON with bigints, with and without the source of a number,", () => {
  /** The same text with some characters of its strings escaped, and space before colons. */
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

  test("is read as the service reads it", () => {
    fc.assert(
      fc.property(value, (original) => {
        const text = toJson(original);
        for (const spelled of [text, respelled(text)]) {
          const expected = parseJson(spelled);
          expect(parseBigints(spelled)).toEqual(expected);
          expect(parseByMarks(spelled)).toEqual(expected);
        }
        expect(parseByMarks(text)).toEqual(original);
      }),
      { numRuns: 500 },
    );
  });

  test("is refused when it is none", () => {
    const pieces = fc.constantFrom(...'{}[]",:\\# -.e0n', "12345678901234567890", '"a"', "true");
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (soup) => {
        const text = soup.join("");
        expect(outcome(parseByMarks, text)).toEqual(outcome(parseJson, text));
      }),
      { numRuns: 3000 },
    );
  });

  test.each(['"\\12345678901234567890', "012345678901234567890", "[12345678901234567890,]"])(
    "is refused: %s",
    (text) => {
      expect(() => parseBigints(text)).toThrow(SyntaxError);
      expect(() => parseByMarks(text)).toThrow(SyntaxError);
    },
  );

  test.each([
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740993", -9007199254740993n],
    ["12345678901234567890.5", Number("12345678901234567890.5")],
    ["12345678901234567890e0", Number("12345678901234567890e0")],
    ['{"#9007199254740993":"\\u0023\\u0039007199254740993"}', { "#9007199254740993": "#9007199254740993" }],
    ['["\\"",9007199254740993]', ['"', 9007199254740993n]],
  ])("is read as what it is: %s", (text, expected) => {
    expect([parseBigints(text), parseByMarks(text)]).toEqual([expected, expected]);
  });
});

/** What a service may answer for one SKU: style codes once each, lines of text and choices in any order and number. */
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

/** As the service chooses rows: what belongs to nothing is not served. */
function reachable({ pzlines, pzstyles, pzchoices }: source.Personalization): source.Personalization {
  const styles = pzstyles.filter((style) => pzlines.some(({ style_code }) => style_code === style.style_code));
  const choices = pzchoices.filter((choice) => styles.some(({ choice_type }) => choice_type === choice.choice_type));
  return { pzlines, pzstyles: styles, pzchoices: choices };
}

function flattened(form: source.FormStyle[]): source.Personalization {
  const lines = form.flatMap((style) => style.lines);
  return {
    pzlines: form.map(({ lines: _, ...line }) => line),
    pzstyles: lines.map(({ choices: _, ...style }) => style),
    pzchoices: [...new Set(lines.flatMap(({ choices }) => choices))],
  };
}

describe("the form of a SKU", () => {
  test("has all that the service serves, in the order in which it does", () => {
    fc.assert(
      fc.property(lists, (any) => {
        const served = orderPersonalization(reachable(any));
        const form = toForm(served);
        expect(flattened(form)).toEqual(served);
        for (const style of form) {
          for (const line of style.lines) {
            expect(line.style_code).toBe(style.style_code);
            expect(line.choices.every(({ choice_type }) => choice_type === line.choice_type)).toBeTrue();
          }
        }
      }),
    );
  });

  test("keeps the order of lists that come in any, loses nothing that belongs somewhere, and changes nothing", () => {
    fc.assert(
      fc.property(lists, (any) => {
        const before = structuredClone(any);
        const form = toForm(any);
        const { pzlines, pzstyles, pzchoices } = flattened(form);
        expect(any).toEqual(before);
        expect(pzlines).toEqual(any.pzlines);
        expect(pzstyles).toHaveLength(reachable(any).pzstyles.length);
        expect(pzchoices).toHaveLength(reachable(any).pzchoices.length);
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

  test("of a SKU of the sample has its styles, lines and choices", async () => {
    const form = toForm(await createClient(service.url).personalization("OV.810794"));
    expect(form.map(({ style_code }) => style_code)).toEqual(["ETCMON3", "ETCBLK2", "ETCMOTF", "ENGDATE", "ETCINIT"]);
    const lines = form.flatMap((style) => style.lines);
    expect(lines.some(({ choices }) => choices.length === 0)).toBeTrue();
    expect(lines.some(({ choices }) => choices.length > 1)).toBeTrue();
  });

  test("of nothing is nothing", () => {
    expect(toForm(empty)).toEqual([]);
  });
});

/** What a runtime is asked to do with the built package; it has nothing but its arguments. */
async function tour(client: typeof source, urls: { service: string; standIn: string; nobody: string }) {
  const told = (call: Promise<unknown>) =>
    client.toResult(call).then(({ error }) => [error?.code, error?.status, error instanceof client.ProductDataError]);
  const real = client.createClient(urls.service, { bigints: true });
  const other = client.createClient(urls.standIn, { remember: 5 });
  const byDefault = client.createClient(urls.standIn);
  const missing = await client.toResult(real.product(12));
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  return {
    title: (await real.product(6781204660224)).product.title,
    ids: (await real.product("9007199254740993")).product.variants.map(({ product_id }) => `${product_id}`),
    form: client.toForm(await real.personalization("TM814935W")).map(({ lines }) => lines.length),
    histories: (await real.histories("asc")).histories.length > 0,
    missing: [missing.error?.code, missing.error?.message.endsWith(missing.error.requestId ?? "?")],
    invalid: await told(real.product("abc")),
    unsafe: await told(real.product(2 ** 53)),
    again: await other.personalization("busy-once"),
    first: await other.personalization("tagged"),
    second: await other.personalization("tagged"),
    timeout: await told(other.personalization("hangs", { timeoutMs: 50 })),
    aborted: await told(other.personalization("hangs", { signal: controller.signal })),
    broken: await told(other.personalization("broken")),
    nobody: await told(client.createClient(urls.nobody).histories()),
    waits: (await client.toResult(other.personalization("busy"))).error?.retryAfterMs,
    default: [await byDefault.personalization("default"), await byDefault.personalization("default")],
  };
}

describe("the built package", () => {
  const file = join(home, "dist", "index.js");
  let times = 0;
  const offers = (style_code: string, tag?: string) =>
    good({ ...empty, pzlines: [{ style_code }] }, tag === undefined ? {} : { ETag: tag });
  const replies: Record<string, Reply> = {
    "": () => new Response("<!doctype html><link rel=icon href=data:,>", { headers: { "Content-Type": "text/html" } }),
    "client.js": () => new Response(Bun.file(file)),
    "busy-once": () => (++times % 2 === 1 ? busy("0") : offers("A")),
    tagged: ({ headers }) =>
      headers.has("If-None-Match") ? new Response(null, { status: 304 }) : offers("B", 'W/"1"'),
    hangs,
    broken: () => new Response('{"pzlines":'),
    busy: () => busy("60"),
    default: ({ headers }) =>
      headers.has("If-None-Match") ? new Response(null, { status: 304 }) : good(empty, { ETag: 'W/"1"' }),
  };
  const byName: Reply = (request) =>
    replies[request.url.slice(request.url.lastIndexOf("/") + 1)]?.(request) ?? new Response("", { status: 404 });
  const server = standIn(byName);
  afterAll(() => server[Symbol.asyncDispose]());
  const urls = { service: service.url, standIn: server.url, nobody: "http://127.0.0.1:1" };
  const told = `(${tour})(client, ${JSON.stringify(urls)})`;

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
        const script = `import * as client from "product-data-client"; console.log(JSON.stringify(await ${told}))`;
        return JSON.parse(await node("tour.mjs", script));
      },
    },
    Chromium: {
      // From another origin a tag that is set by hand is asked for leave first; the browser's own is not.
      requests: [...tagged.toSpliced(1, 0, `OPTIONS ${path}/tagged`), ...byDefault],
      run: async () => {
        await using opened = await openPage(browser, server.url.replace("127.0.0.1", "localhost"));
        return await opened.page.evaluate(`import("/client.js").then((client) => ${told})`);
      },
    },
  };

  test.each(Object.entries(runtimes))("works in %s", async (_, { requests, run }) => {
    expect(JSON.parse(JSON.stringify(await run()))).toEqual({
      title: "Marlowe Platinum 5-Piece Place Setting",
      ids: ["9007199254740993"],
      form: [2],
      histories: true,
      missing: ["not_found", true],
      invalid: ["bad_request", 400, true],
      unsafe: ["bad_request", null, true],
      again: { ...empty, pzlines: [{ style_code: "A" }] },
      first: { ...empty, pzlines: [{ style_code: "B" }] },
      second: { ...empty, pzlines: [{ style_code: "B" }] },
      timeout: ["timeout", null, true],
      aborted: ["aborted", null, true],
      broken: ["unexpected", 200, true],
      nobody: ["network", null, true],
      waits: 60_000,
      default: [empty, empty],
    });
    expect(server.requests.splice(0).filter((request) => /default|tagged/.test(request))).toEqual(requests);
  });

  test("keeps no program waiting after an abort within the wait for the next try", async () => {
    await using waiting = standIn(() => busy("4"));
    const script = `import { createClient } from "product-data-client";
      const signal = AbortSignal.timeout(100);
      await createClient("${waiting.url}").histories("asc", { signal }).catch(({ code }) => console.log(code));`;
    const begun = performance.now();
    expect(await node("abort.mjs", script)).toBe("aborted\n");
    expect(performance.now() - begun).toBeLessThan(2500);
  });

  test("has 3,000 bytes at most, packed", async () => {
    expect(gzipSync(await readFile(file), { level: 9 }).length).toBeLessThanOrEqual(3000);
  });

  test("imports nothing, and exports what it says", async () => {
    const text = await readFile(file, "utf8");
    expect(new Bun.Transpiler({ loader: "js" }).scanImports(text)).toEqual([]);
    expect(Object.keys(await import(file)).sort()).toEqual(["ProductDataError", "createClient", "toForm", "toResult"]);
  });

  test("has the version of the service", async () => {
    const [own, whole] = await Promise.all(
      [packageFolder, root].map((at) => Bun.file(join(at, "package.json")).json()),
    );
    expect(own.version).toBe(whole.version);
    expect(own).not.toHaveProperty("dependencies");
  });
});

/** Runs a module beside the installed package, by Node. @returns what it printed, or why it failed */
async function node(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  const child = Bun.spawn(["node", name], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return exitCode === 0 ? stdout : stderr;
}

describe("the README of the package", async () => {
  const readme = await readFile(join(packageFolder, "README.md"), "utf8");
  const examples = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text = ""]) => text);

  let printed: string[];
  beforeAll(async () => {
    const here = examples.map((text) => text.replaceAll("http://127.0.0.1:3000", service.url));
    printed = await Promise.all(here.map((text, index) => node(`example-${index}.mjs`, text)));
  });

  test.each(examples.entries().toArray())("has example %i, which prints what it says", (index, text) => {
    const said = [...text.matchAll(/\/\/ (.*)$/gm)].map(([, line = ""]) => line);
    expect(said).not.toBeEmpty();
    expect(printed[index]?.trimEnd().split("\n")).toEqual(said);
  });

  test("has examples that the declarations allow, which need no others", async () => {
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
