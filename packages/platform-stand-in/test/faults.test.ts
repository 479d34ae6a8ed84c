import { afterAll, afterEach, describe, expect, test } from "bun:test";
import type { Fault } from "../src/faults.ts";
import { Faults } from "../src/faults.ts";
import { startStandIn } from "../src/stand-in.ts";
import {
  bulkInner,
  dig,
  digText,
  finishRun,
  pages,
  productById,
  productGid,
  queryProduct,
  sendQuery,
} from "./client.ts";

const platform = startStandIn({
  products: 5,
  specials: ["manyVariants"],
  bucket: { maximumAvailable: 1_000_000 },
  bulk: { createdMs: 0, runningMs: 0 },
});
const { catalog, faults } = platform;
afterAll(() => platform.stop());
afterEach(() => {
  faults.clear();
  platform.access.restoreTokens();
});
const id = catalog.idAt(0);

function post(signal?: AbortSignal): Promise<Response> {
  return fetch(platform.graphqlUrl(), {
    method: "POST",
    headers: { "X-Shopify-Access-Token": "shpat_stand-in" },
    body: JSON.stringify({ query: productById, variables: { id: productGid(id) } }),
    ...(signal && { signal }),
  });
}

describe("a status", () => {
  for (const status of [402, 403, 423, 429, 430, 500, 502, 503, 504]) {
    test(`${status} is returned once, then the normal response`, async () => {
      faults.add({ kind: "status", status });
      const response = await post();
      expect(response.status).toBe(status);
      expect(response.headers.get("Retry-After")).toBe(status === 429 ? "2.0" : null);
      expect(response.headers.get("X-Request-Id")).toBeString();
      expect((await post()).status).toBe(200);
    });
  }

  test("has the given Retry-After", async () => {
    faults.add({ kind: "status", status: 503, retryAfter: "0.5" });
    expect((await post()).headers.get("Retry-After")).toBe("0.5");
  });
});

describe("a connection", () => {
  test("that hangs is ended only by the client", async () => {
    faults.add({ kind: "hang" });
    await expect(post(AbortSignal.timeout(60))).rejects.toThrow("timed out");
    expect((await post()).status).toBe(200);
  });

  test("that is reset has no response", async () => {
    faults.add({ kind: "reset" });
    await expect(post()).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  test("that breaks in the middle has a status and an incomplete body", async () => {
    faults.add({ kind: "halfBody" });
    const response = await post();
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  test("is slow by the given time, with other faults too", async () => {
    faults.add({ kind: "slow", latencyMs: 60 });
    faults.add({ kind: "status", status: 502 });
    const start = performance.now();
    expect((await post()).status).toBe(502);
    expect(performance.now() - start).toBeGreaterThanOrEqual(59);
  });
});

describe("a body", () => {
  test("of half the JSON is complete and cannot be parsed", async () => {
    faults.add({ kind: "halfJson" });
    const text = await (await post()).text();
    expect(text).toStartWith('{"data"');
    expect(() => JSON.parse(text)).toThrow();
  });

  test("of HTML comes with status 200", async () => {
    faults.add({ kind: "html" });
    const response = await post();
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("text/html");
  });
});

describe("a response", () => {
  test("can be throttled although the bucket is full", async () => {
    faults.add({ kind: "throttled" });
    const { errors, cost } = await queryProduct(platform, id);
    expect(dig(errors, "0.extensions.code")).toBe("THROTTLED");
    expect(cost.throttleStatus.currentlyAvailable).toBe(130);
  });

  test("can be an internal error with its request id", async () => {
    faults.add({ kind: "internalError" });
    const { status, errors, headers } = await queryProduct(platform, id);
    expect(status).toBe(200);
    expect(dig(errors, "0.extensions")).toEqual({
      code: "INTERNAL_SERVER_ERROR",
      requestId: headers.get("X-Request-Id"),
    });
  });

  test("can come from another version", async () => {
    faults.add({ kind: "fallForward", version: "2027-01" });
    expect((await queryProduct(platform, id)).headers.get("X-Shopify-API-Version")).toBe("2027-01");
  });

  test("can change between the pages of a product", async () => {
    faults.add({ kind: "changeBetweenPages", count: 1 });
    const many = catalog.idOfSpecial("manyVariants");
    const first = await queryProduct(platform, many);
    const after = dig(first.data, "product.variants.pageInfo.endCursor");
    const page = () =>
      sendQuery(platform, pages, { id: productGid(many), after }, { operationName: "ProductVariantsPage" });
    const second = digText((await page()).data, "product.updatedAt");
    expect(second > digText(first.data, "product.updatedAt")).toBe(true);
    expect(dig((await page()).data, "product.updatedAt")).toBe(second);
  });

  test("is 401 for an expired token until tokens are restored", async () => {
    faults.add({ kind: "tokenExpired" });
    expect((await post()).status).toBe(401);
    expect((await post()).status).toBe(401);
    platform.access.restoreTokens();
    expect((await post()).status).toBe(200);
  });
});

describe("a bulk run", () => {
  test("can stay RUNNING forever", async () => {
    faults.add({ kind: "bulkStuck" });
    const finished = finishRun(platform, bulkInner());
    await Bun.sleep(100);
    expect(platform.bulk.list()[0]?.status).toBe("RUNNING");
    platform.bulk.list()[0]?.cancel();
    expect(await finished).toMatchObject({ status: "CANCELED", url: null });
  });

  test("can break off, be truncated, or fail during the download", async () => {
    const url = digText(await finishRun(platform, bulkInner()), "url");
    const whole = (await (await fetch(url)).bytes()).length;
    faults.add({ kind: "halfBody", operation: "BulkDownload" });
    await expect((await fetch(url)).bytes()).rejects.toMatchObject({ code: "ECONNRESET" });
    faults.add({ kind: "halfJson", operation: "BulkDownload" });
    expect((await (await fetch(url)).bytes()).length).toBe(Math.ceil(whole / 2));
    faults.add({ kind: "status", status: 503, operation: "BulkDownload" });
    expect((await fetch(url)).status).toBe(503);
    expect((await (await fetch(url)).bytes()).length).toBe(whole);
  });
});

describe("a fault is triggered", () => {
  const triggered = (fault: Fault, operations: readonly string[], seed = 1) => {
    const counts: string[] = [];
    const faulty = new Faults(seed, (kind) => counts.push(kind));
    faulty.add(fault);
    return operations.map((operation) => (faulty.trigger(operation).length > 0 ? "x" : "-")).join("");
  };
  const ten = Array.from({ length: 10 }, () => "ProductById");

  test("once by default", () => {
    expect(triggered({ kind: "reset" }, ten)).toBe("x---------");
  });

  test("count times, after skip requests", () => {
    expect(triggered({ kind: "reset", count: 3, skip: 2 }, ten)).toBe("--xxx-----");
  });

  test("only for its operations", () => {
    const operations = ["ProductById", "ProductVariantsPage", "ProductImagesPage", "ProductById"];
    expect(triggered({ kind: "reset", count: 9, operation: "ProductById" }, operations)).toBe("x--x");
    expect(triggered({ kind: "reset", count: 9, operation: "*Page" }, operations)).toBe("-xx-");
  });

  test("by probability, for the same requests with the same seed", () => {
    const many = Array.from({ length: 1_000 }, () => "ProductById");
    const run = triggered({ kind: "reset", probability: 0.2 }, many);
    expect(triggered({ kind: "reset", probability: 0.2 }, many)).toBe(run);
    expect(triggered({ kind: "reset", probability: 0.2 }, many, 2)).not.toBe(run);
    expect(run.replaceAll("-", "").length).toBeWithin(150, 250);
  });
});
