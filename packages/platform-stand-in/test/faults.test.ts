import { afterAll, afterEach, describe, expect, test } from "bun:test";
import type { Fault } from "../src/faults.ts";
import { Faults } from "../src/faults.ts";
import { startStandIn } from "../src/stand-in.ts";
import { bulkInner, digText, finishRun, productById, productGid } from "./client.ts";

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

describe("a connection", () => {
  test("is slow by the given time, with other faults too", async () => {
    faults.add({ kind: "slow", latencyMs: 60 });
    faults.add({ kind: "status", status: 502 });
    const start = performance.now();
    expect((await post()).status).toBe(502);
    expect(performance.now() - start).toBeGreaterThanOrEqual(59);
  });
});

describe("a bulk run", () => {
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
