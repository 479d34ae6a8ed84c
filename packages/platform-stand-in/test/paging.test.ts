import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { dig, digList, digText, sendQuery, walk, walkProducts } from "./client.ts";
import { productsUpdatedSince } from "./documents.ts";

const platform = startStandIn({ products: 2_000, specials: ["hugeId"], bucket: { maximumAvailable: 1_000_000 } });
afterAll(() => platform.stop());
const { catalog } = platform;

describe("paging through the products by time", () => {
  test("returns each product once, in order, even with equal times", async () => {
    const products = await walkProducts(platform, "", 7);
    const times = products.map((product) => digText(product, "updatedAt"));
    expect(new Set(products.map((product) => digText(product, "id"))).size).toBe(2_001);
    expect(times).toEqual(times.toSorted());
    const most = Math.max(...[...Map.groupBy(times, (time) => time).values()].map((equal) => equal.length));
    expect(most).toBeGreaterThan(100);
  });

  test("finds the products since an instant, inclusive with >= and exclusive with >", async () => {
    const all = await walkProducts(platform, "");
    const since = digText(all[1_234], "updatedAt");
    const wanted = (isIn: (time: string) => boolean) => all.filter((product) => isIn(digText(product, "updatedAt")));
    expect(await walkProducts(platform, `updated_at:>='${since}'`)).toEqual(wanted((time) => time >= since));
    expect(await walkProducts(platform, `updated_at:>'${since}'`)).toEqual(wanted((time) => time > since));
    expect(await walkProducts(platform, `updated_at:<"${since}"`)).toEqual(wanted((time) => time < since));
  });

  test("combines terms with and without AND", async () => {
    const found = await walkProducts(platform, "updated_at:>'2026-10-01T00:00:00Z' AND status:draft");
    expect(found.length).toBeGreaterThan(0);
    for (const product of found) {
      expect(dig(product, "status")).toBe("DRAFT");
      expect(digText(product, "updatedAt") > "2026-10-01").toBe(true);
    }
    expect(await walkProducts(platform, "status:draft updated_at:>'2026-10-01T00:00:00Z'")).toEqual(found);
  });

  test("returns an edited product again, and loses no other", async () => {
    const first = await sendQuery(platform, productsUpdatedSince, { query: "", first: 250 });
    const edited = digText(first.data, "products.nodes.3.legacyResourceId");
    const last = digText(first.data, "products.nodes.249.legacyResourceId");
    catalog.touch(edited);
    catalog.touch(last);
    const after = dig(first.data, "products.pageInfo.endCursor");
    const second = await sendQuery(platform, productsUpdatedSince, { query: "", first: 250, after });
    const seen = new Set(digList(first.data, "products.nodes").map((product) => dig(product, "id")));
    const fresh = digList(second.data, "products.nodes").filter((product) => !seen.has(dig(product, "id")));
    expect(fresh.length).toBe(250);
    const end = (await walkProducts(platform, "")).slice(-2).map((product) => dig(product, "legacyResourceId"));
    expect(new Set(end)).toEqual(new Set([edited, last]));
  });
});

test("ids are in numeric order, the huge one last", async () => {
  const text = `query ($after: String) { products(first: 250, after: $after) {
    nodes { legacyResourceId } pageInfo { hasNextPage endCursor } } }`;
  const products = await walk(platform, text, "products");
  const ids = products.map((product) => BigInt(digText(product, "legacyResourceId")));
  expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(ids.at(-1)).toBe(9007199254740993n);
});

describe("an unsupported request", () => {
  test.each<[name: string, args: string, code: string]>([
    ["with an invalid cursor", 'after: "bm93aGVyZQ=="', "BAD_USER_INPUT"],
    ["with an unknown search term", 'query: "color:blue"', "STAND_IN_LIMIT"],
    ["with an invalid date", "query: \"updated_at:>'yesterday'\"", "STAND_IN_LIMIT"],
    ["with an unknown sort key", "sortKey: VENDOR", "STAND_IN_LIMIT"],
  ])("%s is an error", async (_, args, code) => {
    const { errors } = await sendQuery(platform, `{ products(first: 1, ${args}) { nodes { id } } }`);
    expect(dig(errors, "0.extensions.code")).toBe(code);
  });
});

describe("a catalog of 100,000 products", () => {
  const large = startStandIn({ products: 100_000, bucket: { maximumAvailable: 1_000_000 } });
  afterAll(() => large.stop());

  test("is counted up to the limit", async () => {
    const { data } = await sendQuery(
      large,
      '{ few: productsCount(query: "id:6900000000000") { count precision } all: productsCount { count precision } }',
    );
    expect(data).toEqual({ few: { count: 1, precision: "EXACT" }, all: { count: 10_000, precision: "AT_LEAST" } });
  });

  test("ends after 25,000 products in paging", async () => {
    expect((await walkProducts(large, "")).length).toBe(25_000);
  });
});
