import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { LineOrder } from "../src/bulk/file.ts";
import { startStandIn } from "../src/stand-in.ts";
import { dig, digText, finishRun, readLines, readRun, sendQuery, startRun } from "./client.ts";
import { bulk, bulkInner } from "./documents.ts";

const platform = startStandIn({
  products: 40,
  specials: ["hostile", "manyImages", "hugeId"],
  bucket: { maximumAvailable: 1_000_000 },
  bulk: { createdMs: 0, runningMs: 0, cancelingMs: 0 },
});
afterAll(() => platform.stop());
const { catalog } = platform;
const mediaQuery = `{ products { edges { node { id media(query: "media_type:IMAGE") { edges { node {
  __typename id ... on MediaImage { createdAt updatedAt image { url } } } } } } } } }`;

describe("a bulk query is rejected", () => {
  test.each<[because: string, query: string, message: string]>([
    [
      "with a sixth connection",
      bulkInner().replace("images {", "media { edges { node { id } } } images {"),
      "more than 5",
    ],
    ["with nodes", "{ products { nodes { id } } }", "`nodes`"],
    ["with nodes further in", nested("id variants { nodes { id } }"), "`nodes`"],
    ["without edges and node", "{ products { pageInfo { hasNextPage } } }", "edges and node"],
    ["with a parent that does not select its id", nested("title images { edges { node { id } } }"), "'id' field"],
    ["with a parent whose id has another name", nested("x: id images { edges { node { id } } }"), "'id' field"],
    ["with variables", "query ($q: String) { products(query: $q) { edges { node { id } } } }", "variables"],
    ["without any connection", "{ shop { name } }", "at least one connection"],
    ["with two operations", "query A { shop { name } } query B { shop { name } }", "exactly one"],
    ["with a field that is not there", nested("id colour"), "Cannot query field"],
    ["that is no GraphQL", "{ products {", "Syntax Error"],
  ])("%s", async (_, query, message) => {
    const payload = await startRun(platform, query);
    expect(dig(payload, "bulkOperation")).toBeNull();
    expect(dig(payload, "userErrors")).toEqual([
      { code: "INVALID", field: ["query"], message: expect.stringContaining(message) },
    ]);
  });

  test("when it nests connections three deep", async () => {
    const four = nested(`id variants { edges { node { id product { variants { edges { node { id metafields {
      edges { node { id } } } } } } } } } }`);
    expect(digText(await startRun(platform, four), "userErrors.0.message")).toContain("deeper than 2");
  });
});

describe("the file of a run", () => {
  test("has the times of images, and the fields of each media type", async () => {
    const run = await finishRun(platform, mediaQuery);
    const media = (await readLines(digText(run, "url"))).filter((line) => dig(line, "__parentId") !== undefined);
    expect(media.length).toBeGreaterThan(260);
    for (const medium of media) expect(digText(medium, "createdAt")).toMatch(/Z$/);
  });

  test("leaves out fields of other types, and is valid JSON whichever field comes first", async () => {
    const media = "media { edges { node { ... on MediaImage { createdAt } ... on Video { status } id } } }";
    const lines = await readLines(digText(await finishRun(platform, nested(`id ${media}`)), "url"));
    const shapes = new Set(lines.map((line) => Object.keys(line as object).join()));
    expect(shapes).toEqual(new Set(["id", "createdAt,id,__parentId", "status,id,__parentId", "id,__parentId"]));
  });

  test("can have children before their parents, and is complete", async () => {
    const read = async (order: LineOrder) => {
      platform.bulk.change({ order });
      return readLines(digText(await finishRun(platform, bulkInner()), "url"));
    };
    const tidy = await read("nested");
    const backwards = await read("childrenFirst");
    const shuffled = await read("shuffled");
    expect(orphansInOrder(tidy)).toBe(0);
    expect(orphansInOrder(backwards)).toBe(backwards.filter((line) => dig(line, "__parentId")).length);
    expect(orphansInOrder(shuffled)).toBeGreaterThan(100);
    const sorted = (lines: unknown[]) => lines.map((line) => digText(line, "id")).toSorted();
    expect(sorted(backwards)).toEqual(sorted(tidy));
    expect(sorted(shuffled)).toEqual(sorted(tidy));
  });

  test("contains the matching products as of the start of the run", async () => {
    const id = catalog.idAt(9);
    catalog.touch(id, { product: { title: "Before" } });
    const started = await startRun(platform, bulkInner(`updated_at:>='2026-11-20T00:00:01Z'`));
    catalog.touch(id, { product: { title: "After" } });
    let run = await readRun(platform, digText(started, "bulkOperation.id"));
    while (dig(run, "status") !== "COMPLETED") run = await readRun(platform, digText(run, "id"));
    const roots = (await readLines(digText(run, "url"))).filter((line) => dig(line, "__typename") === "Product");
    expect(roots.map((line) => dig(line, "title"))).toEqual(["Before"]);
  });

  test("does not exist for an empty result", async () => {
    const run = await finishRun(platform, bulkInner("updated_at:>'2100-01-01T00:00:00Z'"));
    expect(run).toMatchObject({ status: "COMPLETED", objectCount: "0", url: null, fileSize: null });
  });
});

describe("a run", () => {
  test("is created, runs, and completes by the clock", async () => {
    let now = Date.UTC(2026, 10, 21);
    const slow = startStandIn({ products: 3, now: () => now, bulk: { createdMs: 1_000, runningMs: 5_000 } });
    const id = digText(await startRun(slow, bulkInner()), "bulkOperation.id");
    await Bun.sleep(30);
    const states: unknown[] = [];
    for (const step of [0, 999, 1, 4_999, 1]) {
      now += step;
      const run = await readRun(slow, id);
      states.push(dig(run, "status"));
      expect(dig(run, "url") !== null).toBe(dig(run, "status") === "COMPLETED");
    }
    expect(states).toEqual(["CREATED", "CREATED", "RUNNING", "RUNNING", "COMPLETED"]);
    await slow.stop();
  });

  test("is rejected while five are active, and accepted once one is canceled", async () => {
    const busy = startStandIn({ products: 3, bulk: { createdMs: 60_000, cancelingMs: 0 } });
    const ids: string[] = [];
    for (let times = 0; times < 5; times += 1) ids.push(digText(await startRun(busy, bulkInner()), "bulkOperation.id"));
    expect(digText(await startRun(busy, bulkInner()), "userErrors.0.code")).toBe("OPERATION_IN_PROGRESS");
    const canceled = await sendQuery(busy, bulk, { id: ids[2] }, { operationName: "BulkOperationCancel" });
    expect(dig(canceled.data, "bulkOperationCancel.userErrors")).toEqual([]);
    expect(dig(await readRun(busy, ids[2] ?? ""), "status")).toBe("CANCELED");
    expect(dig(await startRun(busy, bulkInner()), "bulkOperation.status")).toBe("CREATED");
    const again = await sendQuery(busy, bulk, { id: ids[2] }, { operationName: "BulkOperationCancel" });
    expect(digText(again.data, "bulkOperationCancel.userErrors.0.message")).toContain("canceled");
    await busy.stop();
  });

  test("that fails keeps the part that it wrote", async () => {
    platform.faults.add({ kind: "bulkFailed", errorCode: "TIMEOUT", part: 0.5 });
    const run = await finishRun(platform, bulkInner());
    expect(run).toMatchObject({ status: "FAILED", errorCode: "TIMEOUT", url: null });
    const roots = (await readLines(digText(run, "partialDataUrl"))).filter(
      (line) => dig(line, "__typename") === "Product",
    );
    expect(roots.length).toBe(21);
    expect(dig(await finishRun(platform, bulkInner()), "status")).toBe("COMPLETED");
  });

  test("of another app is not visible", async () => {
    const apps = [
      { name: "a", token: "shpat_stand-in" },
      { name: "b", token: "b" },
    ];
    const two = startStandIn({ products: 1, apps });
    const id = digText(await startRun(two, bulkInner()), "bulkOperation.id");
    const other = await sendQuery(two, bulk, { id }, { operationName: "BulkOperationById", token: "b" });
    expect(dig(other.data, "bulkOperation")).toBeNull();
    await two.stop();
  });

  test("leaves no file behind when the stand-in stops", async () => {
    const brief = startStandIn({ products: 1, bulk: { createdMs: 0, runningMs: 0 } });
    await finishRun(brief, bulkInner());
    const path = brief.bulk.list()[0]?.path ?? "";
    expect(existsSync(path)).toBe(true);
    await brief.stop();
    expect(existsSync(path)).toBe(false);
  });
});

function nested(fields: string): string {
  return `{ products { edges { node { ${fields} } } } }`;
}

/** Lines that precede their parent. */
function orphansInOrder(lines: readonly unknown[]): number {
  const seen = new Set<unknown>();
  let orphans = 0;
  for (const line of lines) {
    const parent = dig(line, "__parentId");
    if (parent !== undefined && !seen.has(parent)) orphans += 1;
    seen.add(dig(line, "id"));
  }
  return orphans;
}
