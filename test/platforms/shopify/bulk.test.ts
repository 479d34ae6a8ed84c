import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type Fault, startStandIn } from "../../../packages/platform-stand-in/src/stand-in.ts";
import { BulkReadError } from "../../../src/platforms/platform.ts";
import { downloadBulkResults } from "../../../src/platforms/shopify/bulk/download.ts";
import { splitLines } from "../../../src/platforms/shopify/bulk/lines.ts";
import { type BulkFile, runBulkOperation } from "../../../src/platforms/shopify/bulk/operation.ts";
import type { BulkPartitions } from "../../../src/platforms/shopify/bulk/partitions.ts";
import type { SendRequest } from "../../../src/platforms/shopify/client.ts";
import type { CompleteProduct } from "../../../src/platforms/shopify/complete-product.ts";
import { toProduct, unitsOf } from "../../../src/platforms/shopify/mapping.ts";
import { bulkQueries } from "../../../src/platforms/shopify/queries.ts";
import { ShopifyError } from "../../../src/platforms/shopify/retry.ts";
import { startServer } from "../../support/server.ts";
import { connect, createMemoryLog, failureOf, live, readFound, startOwn, watch } from "../../support/shopify.ts";
import { until } from "../../support/until.ts";

const platform = startStandIn({
  products: 30,
  specials: ["manyMetafields", "manyImages", "hugeId", "nulls", "hostile", "movedMedia", "bare"],
  bucket: { maximumAvailable: 1_000_000, restoreRate: 1_000_000 },
  bulk: { createdMs: 0, runningMs: 0, cancelingMs: 0 },
});
const { bulk, counters, faults } = platform;
afterAll(() => platform.stop());

beforeEach(() => {
  faults.clear();
  counters.reset();
});
afterEach(() => {
  jest.useRealTimers();
});

type Name = keyof typeof bulkQueries;
const run = (request: SendRequest, name: Name = "products", signal?: AbortSignal) =>
  runBulkOperation(request, name, live(signal), createMemoryLog().log);
const { request } = connect(platform.graphqlUrl());

describe("a bulk operation", () => {
  test.each<Name>(["products", "media"])("returns the URL and size of its result: %s", async (name) => {
    const result = await run(request, name);
    const text = await (await fetch(result.url ?? "")).text();
    expect(result.bytes).toBe(Buffer.byteLength(text));
    expect(result.objects).toBe(text.trimEnd().split("\n").length);
  });

  test("without results has no URL", async () => {
    await using empty = startOwn({ products: 0, bulk: { createdMs: 0, runningMs: 0, cancelingMs: 0 } });
    const { request } = connect(empty.graphqlUrl());
    const result = await run(request);
    expect(result).toMatchObject({ url: null, bytes: 0, objects: 0 });
    expect(Math.abs(Date.now() - result.endedAtMs)).toBeLessThan(60_000);
    await using partitioned = await downloadBulkResults(result, result, live().signal);
    expect(await productsOf(partitioned)).toEqual([]);
  });

  test.each<[string, Fault, RegExp]>([
    ["with an internal error", { kind: "bulkFailed" }, /products ended as FAILED INTERNAL_SERVER_ERROR$/],
    ["for want of time", { kind: "bulkFailed", errorCode: "TIMEOUT", part: 0.5 }, /ended as FAILED TIMEOUT$/],
  ])("that fails is a BulkReadError with the reason: %s", async (_, fault, message) => {
    faults.add(fault);
    const error = await failureOf(run(request));
    expect(error).toBeInstanceOf(BulkReadError);
    expect(error.message).toMatch(message);
    expect(counters.requests.has("BulkCancel")).toBe(false);
  });

  test("without the required scope is a BulkReadError", async () => {
    const app = platform.findApp();
    const { scopes } = app;
    app.scopes = new Set();
    const error = await failureOf(run(request));
    app.scopes = scopes;
    expect(error).toBeInstanceOf(BulkReadError);
    expect(error.message).toContain("ACCESS_DENIED");
  });

  test("that makes no progress is canceled, and the catalog can be read page by page", async () => {
    faults.add({ kind: "bulkStuck" });
    const error = await failureOf(
      runBulkOperation(request, "products", live(), createMemoryLog().log, bulkQueries.products, 1),
    );
    expect(error).toBeInstanceOf(BulkReadError);
    expect(error.message).toMatch(/^the bulk operation for products was (CREATED|RUNNING) for .* without progress$/);
    expect(bulk.list()[0]?.status).toBe("CANCELED");
  });

  test("is canceled on Shopify when the caller aborts", async () => {
    faults.add({ kind: "bulkStuck" });
    const controller = new AbortController();
    const failure = failureOf(run(request, "products", controller.signal));
    await until("it is polled", () => (counters.requests.get("BulkOperation") ?? 0) > 0);
    controller.abort(new Error("left"));
    const error = await failure;
    expect(error).not.toBeInstanceOf(BulkReadError);
    expect([error.message, (error.cause as Error | undefined)?.message]).toContain("left");
    expect(bulk.list()[0]?.status).toBe("CANCELED");
    expect(counters.requests.get("BulkCancel")).toBe(1);
  });

  test("is canceled when polling fails, with Shopify's error", async () => {
    faults.add({ kind: "bulkStuck" });
    faults.add({ kind: "status", status: 403, operation: "BulkOperation" });
    const error = await failureOf(run(request));
    expect(error).toBeInstanceOf(ShopifyError);
    expect(error.message).toContain("status 403");
    expect(bulk.list()[0]?.status).toBe("CANCELED");
  });

  test.each<[string, Fault]>([
    ["the shop is locked", { kind: "status", status: 423, operation: "BulkRun" }],
    ["the token is refused", { kind: "status", status: 401, operation: "BulkRun", count: 2 }],
  ])("is a ShopifyError when the request itself fails: %s", async (_, fault) => {
    faults.add(fault);
    const error = await failureOf(run(request));
    expect(error).toBeInstanceOf(ShopifyError);
    expect(error).not.toBeInstanceOf(BulkReadError);
  });
});

/** Returns the given responses in order, and fails on any further request. */
function scripted(answers: { [operation in "BulkRun" | "BulkOperation" | "BulkCancel"]?: readonly object[] }) {
  const operations: string[] = [];
  const left = new Map(Object.entries(answers).map(([operation, list]) => [operation, list.values()]));
  const request = (async (operation: string) => {
    operations.push(operation);
    const next = left.get(operation)?.next();
    if (next === undefined || next.done) throw new Error(`${operation} was not expected`);
    return next.value;
  }) as SendRequest;
  return { request, operations };
}

describe("starting and polling a bulk operation", () => {
  const id = "gid://shopify/BulkOperation/1";
  const started = { bulkOperationRunQuery: { bulkOperation: { id, status: "CREATED" }, userErrors: [] } };
  const complained = (code: string | null, message: string) => ({
    bulkOperationRunQuery: { bulkOperation: null, userErrors: [{ code, field: null, message }] },
  });
  const busy = complained("OPERATION_IN_PROGRESS", "already in progress");
  const state = (status: string) => ({ bulkOperation: { id, status, objectCount: "7", fileSize: "70", url: "u" } });

  // With fake timers, AbortSignal.timeout would fire.
  const never = new AbortController().signal;

  /** Advances the fake timers until the promise settles. @returns the milliseconds that passed */
  async function passTime(promise: Promise<unknown>): Promise<number> {
    let done = false;
    const end = () => {
      done = true;
    };
    promise.then(end, end);
    for (let passedMs = 0; passedMs < 3_600_000; passedMs += 50) {
      for (let turn = 0; turn < 20; turn++) await null;
      if (done) return passedMs;
      jest.advanceTimersByTime(50);
    }
    throw new Error("it never ended");
  }

  test("retries every ten seconds while other operations are running", async () => {
    jest.useFakeTimers();
    const { request, operations } = scripted({ BulkRun: [busy, busy, started], BulkOperation: [state("COMPLETED")] });
    const result = run(request, "products", never);
    expect(await passTime(result)).toBe(20_250);
    expect(await result).toEqual({ url: "u", bytes: 70, objects: 7, endedAtMs: Number.POSITIVE_INFINITY });
    expect(operations).toEqual(["BulkRun", "BulkRun", "BulkRun", "BulkOperation"]);
  });

  test("gives up after ten attempts to start", async () => {
    jest.useFakeTimers();
    const { request, operations } = scripted({ BulkRun: Array.from({ length: 10 }, () => busy) });
    const failure = failureOf(run(request, "products", never));
    expect(await passTime(failure)).toBe(90_000);
    expect(await failure).toBeInstanceOf(BulkReadError);
    expect((await failure).message).toContain("already in progress");
    expect(operations).toHaveLength(10);
  });

  test.each([
    ["any other user error", complained("INVALID", "Too many connections."), "Too many connections."],
    ["a user error without a code", complained(null, "not now"), "not now"],
    ["no reason", { bulkOperationRunQuery: null }, "no reason given"],
  ])("fails at once for %s", async (_, answer, reason) => {
    const { request, operations } = scripted({ BulkRun: [answer] });
    const error = await failureOf(run(request, "products", never));
    expect(error).toBeInstanceOf(BulkReadError);
    expect(error.message).toBe(`Shopify refused the bulk operation: ${reason}`);
    expect(operations).toEqual(["BulkRun"]);
  });

  test("polls with increasing delays up to ten seconds", async () => {
    jest.useFakeTimers();
    const states = ["CREATED", "RUNNING", "CANCELING"];
    const running = Array.from({ length: 20 }, (_, poll) => state(states[Math.min(poll, 2)] ?? ""));
    const { request, operations } = scripted({ BulkRun: [started], BulkOperation: [...running, state("COMPLETED")] });
    const result = run(request, "products", never);
    const tookMs = await passTime(result);
    expect(operations).toHaveLength(22);
    // 250 ms and half as much again each time, for ten polls, then ten seconds eleven times.
    expect(tookMs).toBeGreaterThan(110_000 + 28_000);
    expect(tookMs).toBeLessThan(110_000 + 29_500);
  });

  test.each([
    ["no longer exists", { bulkOperation: null }, "ended as GONE"],
    ["has an unknown status", state("PAUSED"), "ended as PAUSED"],
    ["is canceled by someone else", state("CANCELED"), "ended as CANCELED"],
    ["expired", state("EXPIRED"), "ended as EXPIRED"],
  ])("fails when the operation %s", async (_, answer, message) => {
    const { request } = scripted({ BulkRun: [started], BulkOperation: [answer] });
    const error = await failureOf(run(request, "products", never));
    expect(error).toBeInstanceOf(BulkReadError);
    expect(error.message).toContain(message);
  });

  test("stops retrying to start when the caller aborts", async () => {
    faults.add({ kind: "bulkStuck", count: 5 });
    const runs = new AbortController();
    const polled = new Set<unknown>();
    const watched = watch(request, (operation, variables) => {
      if (operation === "BulkOperation") polled.add(Object.values(variables)[0]);
    });
    const stuck = Array.from({ length: 5 }, () => failureOf(run(watched, "media", runs.signal)));
    await until("five are polled", () => polled.size === 5);
    const controller = new AbortController();
    const sixth = failureOf(run(request, "products", controller.signal));
    await until("the sixth tries to start", () => counters.requests.get("BulkRun") === 6);
    controller.abort();
    expect((await sixth).name).toBe("AbortError");
    expect(counters.bulkRuns).toBe(5);
    runs.abort();
    await Promise.all(stuck);
    expect(bulk.list().filter(({ isActive }) => isActive)).toEqual([]);
  });
});

async function productsOf(result: BulkPartitions): Promise<CompleteProduct[]> {
  const products: CompleteProduct[] = [];
  for await (const part of result.readProducts()) products.push(...part);
  return products.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

interface Line {
  readonly id?: string;
  readonly __typename: string;
  readonly __parentId?: string;
  readonly [field: string]: unknown;
}

/** Builds the expected products from the lines of both results in the simplest way. */
function assembled(products: readonly string[], media: readonly string[]) {
  const lines = products.map((line): Line => JSON.parse(line));
  const mediaLines = media.map((line): Line => JSON.parse(line));
  const childrenOf = (parent: Line, kind: string, among = lines) =>
    among.filter(({ __parentId, __typename }) => __parentId === parent.id && __typename === kind);
  return lines
    .filter(({ __parentId }) => __parentId === undefined)
    .map((product) => ({
      ...product,
      images: childrenOf(product, "Image"),
      media: childrenOf(product, "MediaImage", mediaLines),
      metafields: childrenOf(product, "Metafield"),
      variants: childrenOf(product, "ProductVariant")
        .map((variant) => ({ ...variant, metafields: childrenOf(variant, "Metafield") }))
        .toSorted((a, b) => Number((a as Line).position) - Number((b as Line).position)),
    }))
    .toSorted((a, b) => (`${(a as Line).id}` < `${(b as Line).id}` ? -1 : 1)) as unknown[];
}

/** Responses for download, by path and number of the download. */
const files = new Map<string, (download: number) => Response>();
const downloads = new Map<string, number>();
const fileServer = startServer((request) => {
  const path = new URL(request.url).pathname;
  const download = (downloads.get(path) ?? 0) + 1;
  downloads.set(path, download);
  return files.get(path)?.(download) ?? new Response("no such file", { status: 404 });
});

let fileNumber = 0;
type Body = string | Uint8Array | ReadableStream;
interface Served extends BulkFile {
  downloads(): number;
}

function serveFile(body: (download: number) => Body | Response, objects: number, bytes = 0): Served {
  const path = `/${++fileNumber}.jsonl`;
  files.set(path, (download) => {
    const answer = body(download);
    return answer instanceof Response ? answer : new Response(answer);
  });
  const url = `${fileServer}${path}`;
  return { url, bytes, objects, downloads: () => downloads.get(path) ?? 0 };
}

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
/** `parts`: the claimed size in megabytes, which is the number of partitions. */
const serveLines = (lines: readonly string[], parts = 1) =>
  serveFile(() => textOf(lines), lines.length, (parts - 0.5) * 1024 * 1024);
const nothing: BulkFile = { url: null, bytes: 0, objects: 0 };

const signal = new AbortController().signal;

/** A temporary folder of its own, to see which files remain. */
const temporary = mkdtempSync(join(tmpdir(), "partition-test-"));
const usual = process.env.TMPDIR;
beforeEach(() => {
  process.env.TMPDIR = temporary;
});
afterEach(() => {
  if (usual === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = usual;
});
afterAll(() => rmSync(temporary, { recursive: true, force: true }));
const leftOvers = () => readdirSync(temporary);

async function partitioned(products: BulkFile, media: BulkFile = nothing): Promise<CompleteProduct[]> {
  await using result = await downloadBulkResults(products, media, signal);
  expect(leftOvers()).toHaveLength(1);
  return await productsOf(result);
}

async function download(name: Name): Promise<string[]> {
  const { url } = await run(request, name);
  return (await (await fetch(url ?? "")).text()).trimEnd().split("\n");
}

const [productLines, mediaLines] = await Promise.all([download("products"), download("media")]);
const right = assembled(productLines, mediaLines);

/** Reorders lines, but keeps the order of siblings of the same type. */
function inOrder(lines: readonly string[], keys: readonly number[]): string[] {
  const shuffled = lines
    .map((line, index) => ({ line, key: keys[index] ?? 0 }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ line }) => line);
  const family = (line: string) => {
    const { __typename, __parentId = "" } = JSON.parse(line) as Line;
    return `${__typename} of ${__parentId}`;
  };
  const families = Map.groupBy(lines, family);
  const members = new Map([...families].map(([name, list]) => [name, list.values()]));
  return shuffled.map((line) => members.get(family(line))?.next().value ?? "");
}

/** The lines of some products and their children. */
function linesOf(lines: readonly string[], ids: ReadonlySet<string>): string[] {
  const known = new Set(ids);
  return lines.filter((text) => {
    const { id = "", __parentId } = JSON.parse(text) as Line;
    const isTheirs = known.has(__parentId ?? id);
    if (isTheirs) known.add(id);
    return isTheirs;
  });
}

describe("bulk results", () => {
  test("equal the products that are read one by one", async () => {
    const units = unitsOf("America/New_York", "POUNDS", 0);
    const found = await partitioned(serveLines(productLines, 7), serveLines(mediaLines));
    expect(found.map(({ id }) => id).toSorted()).toEqual(
      platform.catalog
        .ids(0, 100)
        .map((id) => `gid://shopify/Product/${id}`)
        .toSorted(),
    );
    for (const product of found) {
      const read = await readFound(request, BigInt(product.legacyResourceId), live());
      expect(toProduct(product, units)).toEqual(read?.product as never);
    }
  });

  test.each([1, 7, 40, 3000])("do not depend on the number of partitions: %i megabytes", async (parts) => {
    expect(await partitioned(serveLines(productLines, parts), serveLines(mediaLines, 0.5))).toEqual(right as never);
  });

  const ids = right.map((product) => (product as Line).id ?? "");
  const chosen = new Set(ids.filter((_, index) => index % 9 === 0));
  const few = { products: linesOf(productLines, chosen), media: linesOf(mediaLines, chosen) };
  const keysOf = (lines: readonly string[]) =>
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: lines.length, maxLength: lines.length });

  test("do not depend on the order of lines, except among siblings", async () => {
    expect(few.products.length).toBeGreaterThan(100);
    const expected = assembled(few.products, few.media);
    await fc.assert(
      fc.asyncProperty(
        keysOf(few.products),
        keysOf(few.media),
        fc.integer({ min: 1, max: 5 }),
        async (keys, mediaKeys, parts) => {
          const products = serveLines(inOrder(few.products, keys), parts);
          const media = serveLines(inOrder(few.media, mediaKeys));
          expect(await partitioned(products, media)).toEqual(expected as never);
        },
      ),
      { numRuns: 15 },
    );
  });

  test("ignore media of unknown products", async () => {
    const found = await partitioned(serveLines(few.products, 3), serveLines(mediaLines));
    expect(found).toEqual(assembled(few.products, few.media) as never);
  });

  test("list the products before they are read, and leave no temporary files if they are not", async () => {
    const result = await downloadBulkResults(serveLines(few.products), nothing, signal);
    expect([...result.ids].map((id) => `gid://shopify/Product/${id}`).toSorted()).toEqual([...chosen].toSorted());
    await result[Symbol.asyncDispose]();
    expect(leftOvers()).toEqual([]);
  });

  /** Lines of a small catalog. */
  const product = (number: number, fields: object = {}) =>
    JSON.stringify({ __typename: "Product", id: `gid://shopify/Product/${number}`, ...fields });
  const variant = (number: number, parent: number, fields: object = {}) =>
    JSON.stringify({
      __typename: "ProductVariant",
      id: `gid://shopify/ProductVariant/${number}`,
      position: number,
      ...fields,
      __parentId: `gid://shopify/Product/${parent}`,
    });
  const metafield = (number: number, parent: string, fields: object = {}) =>
    JSON.stringify({
      __typename: "Metafield",
      id: `gid://shopify/Metafield/${number}`,
      ...fields,
      __parentId: `gid://shopify/${parent}`,
    });

  test("may have lines of any length", async () => {
    const value = 'é😀\u2028\\"'.repeat(1_000_000);
    const lines = [product(1), metafield(5, "Product/1", { value }), product(2)];
    const [first, second] = await partitioned(serveLines(lines, 2));
    expect(first?.metafields[0]?.value === value).toBe(true);
    expect(second?.id).toBe("gid://shopify/Product/2");
  });

  test("are identified by fields, not by text that looks like fields", async () => {
    const trap = '"__parentId":"gid://shopify/Product/2"}';
    const lines = [
      product(1, { title: trap, vendor: `{"__typename":"Metafield","id":"gid://shopify/Metafield/3"` }),
      product(2, { title: `${trap}\n${trap}` }),
      metafield(5, "Product/1", { value: trap }),
      metafield(6, "ProductVariant/9", { value: `${trap}\r\n${variant(10, 2)}` }),
      variant(9, 1, { title: trap }),
    ];
    expect(await partitioned(serveLines(lines, 3))).toEqual(assembled(lines, []) as never);
  });

  test.each([
    ["fields in another order", (line: Line) => Object.fromEntries(Object.entries(line).toReversed())],
    ["an unknown field after the parent", (line: Line) => ({ ...line, more: 1 })],
  ])("are parsed with %s", async (_, change) => {
    const lines = few.products.map((line) => JSON.stringify(change(JSON.parse(line))));
    expect(await partitioned(serveLines(lines, 3))).toEqual(assembled(lines, []) as never);
  });

  test("order variants by position", async () => {
    const lines = [product(1), variant(9, 1), variant(7, 1), metafield(5, "ProductVariant/9"), variant(8, 1)];
    const [only] = await partitioned(serveLines(lines));
    expect(only?.variants.map(({ position, metafields }) => [position, metafields.length])).toEqual([
      [7, 0],
      [8, 0],
      [9, 1],
    ]);
  });

  test("may have identifiers of 64 bits", async () => {
    const big = "9223372036854775807";
    const lines = [
      `{"__typename":"Product","id":"gid://shopify/Product/${big}"}`,
      `{"__typename":"Metafield","id":"gid://shopify/Metafield/1","__parentId":"gid://shopify/ProductVariant/${big}"}`,
      `{"__typename":"ProductVariant","id":"gid://shopify/ProductVariant/${big}","position":1,"__parentId":"gid://shopify/Product/${big}"}`,
    ];
    await using result = await downloadBulkResults(serveLines(lines, 3), nothing, signal);
    expect([...result.ids]).toEqual([9223372036854775807n]);
    expect(await productsOf(result)).toEqual(assembled(lines, []) as never);
  });

  test("are rejected when a line is not JSON, so that later lines are not lost silently", async () => {
    const lines = [product(1), product(2).replace('"}', '","title":}'), product(3)];
    const found = await partitioned(serveLines(lines)).catch((error: Error) => error);
    expect(found).toBeInstanceOf(Error);
    expect(leftOvers()).toEqual([]);
  });

  describe("that are incomplete", () => {
    const text = textOf(few.products);
    const half = Buffer.from(text).subarray(0, Buffer.byteLength(text) / 2);
    const broken = () =>
      new ReadableStream({
        async start(controller) {
          controller.enqueue(half);
          await Bun.sleep(5);
          controller.error(null);
        },
      });

    test.each<[string, () => Body | Response]>([
      ["the connection ends in the middle", broken],
      ["half is sent as a complete response", () => half],
      ["the server has an error", () => new Response("<html>", { status: 503 })],
      ["a line is missing", () => textOf(few.products.slice(1))],
      ["a page of HTML is sent", () => "<html>\n<p>One moment</p>\n</html>"],
    ])("are downloaded again: %s", async (_, bad) => {
      const products = serveFile((number) => (number < 3 ? bad() : text), few.products.length);
      expect(await partitioned(products, serveLines(few.media))).toEqual(assembled(few.products, few.media) as never);
      expect(products.downloads()).toBe(3);
      expect(leftOvers()).toEqual([]);
    });

    test.each<[string, () => Body | Response, number, RegExp]>([
      ["half", () => half, few.products.length, /./],
      ["too few lines", () => text, few.products.length + 1, /incomplete: received \d+ of \d+ lines/],
      ["too many lines", () => text, few.products.length - 1, /incomplete: received \d+ of \d+ lines/],
      ["no file", () => new Response("", { status: 404 }), 1, /cannot download the bulk result: status 404/],
      [
        "metafields of no variant",
        () => `${product(1)}\n${metafield(5, "ProductVariant/9")}\n`,
        2,
        /metafields without their variant/,
      ],
      ["not JSON", () => "<html>}\n", 1, /JSON/],
      [
        "a repeated line for a missing one",
        () => textOf([...few.products.slice(1), ...few.products.slice(1, 2)]),
        few.products.length,
        /incomplete: received \d+ of \d+ lines/,
      ],
      ["lines that end too early", () => `${product(1).slice(0, -1)}\n`, 1, /ends within a line/],
    ])("fail after several downloads with the reason: %s", async (_, body, objects, message) => {
      const products = serveFile(body, objects);
      const error = await failureOf(downloadBulkResults(products, nothing, signal, { pauseMs: 0 }));
      // The catalog can be read page by page instead.
      expect(error).toBeInstanceOf(BulkReadError);
      expect(error.message).toMatch(message);
      expect(products.downloads()).toBe(message.source.includes("404") ? 11 : 5);
      expect(leftOvers()).toEqual([]);
    });

    test("fail at once when they are larger than allowed, also after they are decompressed", async () => {
      const large = `${textOf(few.products)}${"\n".repeat(2 ** 20)}`;
      const packed = () => new Response(Bun.gzipSync(Buffer.from(large)), { headers: { "Content-Encoding": "gzip" } });
      for (const body of [() => large, packed]) {
        const products = serveFile(body, few.products.length);
        const error = await failureOf(downloadBulkResults(products, nothing, signal, { pauseMs: 0, maxMegabytes: 1 }));
        expect(error).toMatchObject({ code: "invalid_input" });
        expect(error.message).toBe("a bulk result: larger than MAX_FILE_MEGABYTES allows (1 MB)");
        expect(products.downloads()).toBe(1);
        expect(leftOvers()).toEqual([]);
      }
      await using result = await downloadBulkResults(serveFile(packed, few.products.length), nothing, signal, {
        maxMegabytes: 2,
      });
      expect(result.ids.size).toBe(chosen.size);
    });

    test("are read line by line, and no line may take all memory", async () => {
      const lines = Buffer.from("\na\n\nbé😀\n\ncde\n\nf");
      for (let size = 1; size <= lines.length; size++) {
        const toChunks = async function* () {
          for (let start = 0; start < lines.length; start += size) yield lines.subarray(start, start + size);
        };
        expect(await Array.fromAsync(splitLines(toChunks()), String)).toEqual(["a", "bé😀", "cde", "f"]);
      }
      const endless = async function* () {
        const megabyte = new Uint8Array(2 ** 20);
        for (;;) yield megabyte;
      };
      await expect(Array.fromAsync(splitLines(endless()))).rejects.toThrow("has a line of over 67108864 bytes");
    });

    test("fail at once when they are at a metadata address", async () => {
      const products = { url: "http://169.254.169.254/result", bytes: 1, objects: 1 };
      const error = await failureOf(downloadBulkResults(products, nothing, signal, { pauseMs: 0 }));
      expect(error.message).toContain("nothing is sent there");
    });

    test("fail when they have lines, but no address", async () => {
      const error = await failureOf(
        downloadBulkResults({ url: null, bytes: 0, objects: 3 }, nothing, signal, { pauseMs: 0 }),
      );
      expect(error).toBeInstanceOf(BulkReadError);
      expect(error.message).toContain("it has 3 lines, but no address");
    });

    test("fail for media as they do for products", async () => {
      const media = serveFile(() => textOf(few.media), few.media.length + 1);
      const error = await failureOf(downloadBulkResults(serveLines(few.products), media, signal, { pauseMs: 0 }));
      expect(error.message).toMatch(/incomplete/);
      expect(media.downloads()).toBe(5);
      expect(leftOvers()).toEqual([]);
    });

    test("are downloaded ten times more, if their storage does not answer", async () => {
      const at = (number: number) => (number < 11 ? new Response("", { status: 503 }) : text);
      const products = serveFile(at, few.products.length);
      await using result = await downloadBulkResults(products, nothing, signal, { pauseMs: 0 });
      expect(result.ids.size).toBe(chosen.size);
      expect(products.downloads()).toBe(11);
    });

    test("are not downloaded again after the caller aborts", async () => {
      const release = Promise.withResolvers<void>();
      const products = serveFile(
        () =>
          new ReadableStream({
            async start(controller) {
              controller.enqueue(half);
              await release.promise;
              controller.close();
            },
          }),
        few.products.length,
      );
      const controller = new AbortController();
      const failure = failureOf(downloadBulkResults(products, nothing, controller.signal));
      await until("the download has begun", () => products.downloads() === 1 && leftOvers().length === 1);
      controller.abort(new Error("left"));
      expect((await failure).message).toBe("left");
      release.resolve();
      expect(products.downloads()).toBe(1);
      expect(leftOvers()).toEqual([]);
    });
  });

  test("count a repeated line once", async () => {
    const repeat = (lines: readonly string[]) => [...lines, ...lines.slice(0, 7), ...lines.slice(3, 9)];
    const products = serveFile(() => textOf(repeat(few.products)), few.products.length);
    const media = serveFile(() => textOf(repeat(few.media)), few.media.length);
    expect(await partitioned(products, media)).toEqual(assembled(few.products, few.media) as never);
    expect([products.downloads(), media.downloads()]).toEqual([1, 1]);
  });

  test("have a product once that is in them twice", async () => {
    const lines = [product(1), product(1).replace("}", ',"title":"Later"}')];
    await using result = await downloadBulkResults(serveLines(lines), nothing, signal);
    expect(await productsOf(result)).toMatchObject([{ id: "gid://shopify/Product/1", title: "Later" }]);
  });
});
