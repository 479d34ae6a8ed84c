import { afterAll, describe, expect, test } from "bun:test";
import { connectionFactor } from "../src/graphql/cost.ts";
import { startStandIn } from "../src/stand-in.ts";
import { dig, digList, productGid, queryProduct, sendQuery } from "./client.ts";
import { bulk, bulkInner, productById, productsUpdatedSince } from "./documents.ts";

const platform = startStandIn({ products: 30, bucket: { maximumAvailable: 100_000 } });
afterAll(() => platform.stop());
const id = productGid(platform.catalog.idAt(3));
const all = 250;

describe("the requested cost", () => {
  const cases: [name: string, price: number, text: string, variables: object, operationName?: string][] = [
    ["ProductById with its defaults", 131, productById, { id }],
    [
      "ProductById with 10 variants, 25 images, 10 metafields per variant",
      78,
      productById,
      { id, variantsFirst: 10, imagesFirst: 25, mediaFirst: 25, variantMetafieldsFirst: 10 },
    ],
    [
      "ProductById with all pages full",
      244,
      productById,
      {
        id,
        imagesFirst: all,
        mediaFirst: all,
        variantsFirst: all,
        variantMetafieldsFirst: all,
        productMetafieldsFirst: all,
      },
    ],
    ["ProductsUpdatedSince", 13, productsUpdatedSince, { query: "" }],
    ["a mutation", 10, bulk, { query: bulkInner() }, "BulkProductsRun"],
    ["a poll of a bulk run", 1, bulk, { id: "gid://shopify/BulkOperation/1" }, "BulkOperationById"],
    ["one object", 1, "{ shop { name } }", {}],
    ["a page with edges", 25, edgesOfItems("edges { node {", "} }"), { id }],
    ["the same page with nodes", 25, edgesOfItems("nodes {", "}"), { id }],
  ];

  for (const [name, price, text, variables, operationName] of cases) {
    test(`of ${name} is ${price}`, async () => {
      const { cost } = await sendQuery(platform, text, variables, operationName === undefined ? {} : { operationName });
      expect(cost.requestedQueryCost).toBe(price);
    });
  }

  test("of a list grows with the logarithm of its size", () => {
    expect([0, 1, 2, 5, 10, 25, 50, 100, 250].map(connectionFactor)).toEqual([1, 1, 1, 3, 4, 6, 7, 9, 11]);
  });

  test("above 1,000 points makes the query fail", async () => {
    const metafields = "metafields(first: 250) { nodes { id } }";
    const nested = `{ products(first: 250) { nodes { variants(first: 250) { nodes { ${metafields} } } } } }`;
    const { data, errors, cost } = await sendQuery(platform, nested);
    expect(data).toBeUndefined();
    expect(dig(errors, "0.extensions.code")).toBe("MAX_COST_EXCEEDED");
    expect(cost.requestedQueryCost).toBe(2 + 11 * (1 + 2 + 11 * (1 + 2 + 11)));
    expect(cost.actualQueryCost).toBeNull();
  });
});

describe("the actual cost", () => {
  test("depends on the sizes in the response, and the rest is refunded", async () => {
    const before = platform.findApp().bucket.status.currentlyAvailable;
    const { cost, data } = await queryProduct(platform, platform.catalog.idAt(3));
    expect(digList(data, "product.variants.nodes").length).toBeGreaterThan(0);
    expect(cost.actualQueryCost).toBeLessThan(131);
    expect(before - platform.findApp().bucket.status.currentlyAvailable).toBeLessThanOrEqual(cost.actualQueryCost ?? 0);
  });

  test("of a missing product is one point, as recorded", async () => {
    const { cost } = await sendQuery(platform, edgesOfItems("nodes {", "}"), { id: productGid("1") });
    expect(cost).toMatchObject({ requestedQueryCost: 25, actualQueryCost: 1 });
  });

  test("of an empty list is two points, as of every list", async () => {
    const { cost } = await sendQuery(platform, productsUpdatedSince, { query: "updated_at:>'2100-01-01T00:00:00Z'" });
    expect(cost.actualQueryCost).toBe(2);
  });

  test("counts only the fragments of matching types", async () => {
    const nodes = "nodes { ... on Video { id } ... on MediaImage { image { url } } }";
    const { cost } = await sendQuery(
      platform,
      `query ($id: ID!) { product(id: $id) { media(first: 10) { ${nodes} } } }`,
      {
        id,
      },
    );
    expect(cost.requestedQueryCost).toBe(1 + 2 + 2 * 4);
  });
});

describe("a page size", () => {
  test.each<[name: string, text: string, message: string]>([
    ["above 250", "{ products(first: 251) { nodes { id } } }", "first cannot exceed 250"],
    ["that is missing", "{ products { nodes { id } } }", "you must provide one of first or last"],
    [
      "that is nested",
      "{ products(first: 1) { nodes { variants(first: 300) { nodes { id } } } } }",
      "first cannot exceed 250",
    ],
  ])("%s makes the whole query fail", async (_, text, message) => {
    const { data, errors } = await sendQuery(platform, text);
    expect(data).toBeUndefined();
    expect(dig(errors, "0.message")).toBe(message);
  });
});

function edgesOfItems(open: string, close: string): string {
  const items = `variants(first: 250) { ${open} inventoryItem { id tracked } ${close} }`;
  return `query ($id: ID!) { product(id: $id) { ${items} } }`;
}
