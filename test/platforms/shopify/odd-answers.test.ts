import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../../../packages/platform-stand-in/src/stand-in.ts";
import {
  PlatformError,
  type PointsReport,
  type SharedPoints,
  UnusableProductError,
} from "../../../src/platforms/platform.ts";
import { runBulkOperation } from "../../../src/platforms/shopify/bulk/operation.ts";
import type { SendRequest } from "../../../src/platforms/shopify/client.ts";
import { listDeletions } from "../../../src/platforms/shopify/list-deletions.ts";
import { countProducts, findProductId, listProducts } from "../../../src/platforms/shopify/list-products.ts";
import { readPages } from "../../../src/platforms/shopify/read-page.ts";
import { readProduct } from "../../../src/platforms/shopify/read-product.ts";
import { ShopifyError } from "../../../src/platforms/shopify/retry.ts";
import { readShop } from "../../../src/platforms/shopify/shop.ts";
import { createSubscriptions } from "../../../src/platforms/shopify/subscriptions.ts";
import { startServer } from "../../support/server.ts";
import { connect, createMemoryLog, failureOf, live, readFound } from "../../support/shopify.ts";

const bucket = { maximumAvailable: 1_000_000, restoreRate: 1_000_000 };
const platform = startStandIn({ now: () => Date.now() - 60_000, products: 3, bucket });
const { catalog } = platform;
afterAll(() => platform.stop());
const [first = "", second = ""] = catalog.ids(0, 2);

type Json = Record<string, unknown>;

const shop = { id: "1", myshopifyDomain: "stand-in.myshopify.com", ianaTimezone: "UTC", weightUnit: "GRAMS" };

/** A client whose answers a proxy changes. */
function changed(change: (operation: string, data: Json) => Json): SendRequest {
  const url = startServer(async (request) => {
    const [headers, body] = [new Headers(request.headers), await request.text()];
    headers.set("accept-encoding", "identity");
    const response = await fetch(platform.graphqlUrl(), { method: "POST", headers, body });
    const answer = (await response.json()) as { data: Json };
    return Response.json({ ...answer, data: change(JSON.parse(body).operationName, answer.data) });
  });
  return connect(url).request;
}

const withNull = (field: string) => (product: Json) => ({ ...product, [field]: null });
const withVariant = (variant: unknown) => (product: Json) => {
  const variants = product.variants as { nodes: Json[] };
  return {
    ...product,
    variants: { ...variants, nodes: variants.nodes.map((node) => variant && { ...node, ...variant }) },
  };
};

const withOption = (option: Json) => (product: Json) => ({
  ...product,
  options: (product.options as Json[]).map((each) => ({ ...each, ...option })),
});
const withMetafield = (metafield: Json | null) => (product: Json) => ({
  ...product,
  metafields: { ...(product.metafields as Json), nodes: [metafield && { ...aMetafield, ...metafield }] },
});
const aMetafield = {
  id: "gid://shopify/Metafield/1",
  legacyResourceId: "1",
  namespace: "custom",
  key: "care",
  value: "cold",
  type: "string",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};

const oddProducts: [string, (product: Json) => Json][] = [
  ...["title", "handle", "updatedAt", "images", "media", "metafields", "variants", "options"].map(
    (field): [string, (product: Json) => Json] => [`without ${field}`, withNull(field)],
  ),
  ["with a variant that is null", withVariant(null)],
  ["with a variant without title", withVariant({ title: null })],
  ["with a variant without price", withVariant({ price: null })],
  ["with a title that is a number", (product) => ({ ...product, title: 5 })],
  ["with a time that does not exist", (product) => ({ ...product, createdAt: "2026-13-01T00:00:00Z" })],
  ["without pageInfo", (product) => ({ ...product, images: { nodes: [] } })],
  ["with a variant without metafields", withVariant({ metafields: null })],
  [
    "with a metafield of a variant that is null",
    withVariant({ metafields: { nodes: [null], pageInfo: { hasNextPage: false, endCursor: null } } }),
  ],
  ["with a variant without position", withVariant({ position: null })],
  [
    "with a variant that does not say whether its stock is tracked",
    withVariant({ inventoryItem: { legacyResourceId: "1", tracked: null } }),
  ],
  ["with an option without name", withOption({ name: null })],
  ["with an option with a value that is null", withOption({ values: [null] })],
  ["with a metafield that is null", withMetafield(null)],
  ["with a metafield without key", withMetafield({ key: null })],
  ["with a metafield without type", withMetafield({ type: null })],
];

describe("an answer that the schema excludes", () => {
  test.each<[string, (data: Json) => Json]>([
    ["without a shop", ({ product }) => ({ product })],
    ["with a shop that is null", (data) => ({ ...data, shop: null })],
    ["that does not say whether there is a product", ({ shop }) => ({ shop })],
    [
      "about another product",
      (data) => ({ ...data, product: { ...(data.product as Json), id: "gid://shopify/Product/1" } }),
    ],
    ...oddProducts.map(([name, change]): [string, (data: Json) => Json] => [
      name,
      (data) => ({ ...data, product: change(data.product as Json) }),
    ]),
  ])("%s fails the read of that product alone", async (_, change) => {
    const odd = changed((_, data) => change(data));
    const error = await failureOf(readFound(odd, BigInt(first), live()));
    expect(error).toBeInstanceOf(PlatformError);
    expect((error as PlatformError).isGeneral).toBe(false);
  });

  test.each(oddProducts)("%s does not keep the other products of its page from being read", async (_, change) => {
    const odd = changed((_, data) => {
      const products = data.products as { nodes: Json[] };
      return {
        ...data,
        products: {
          ...products,
          nodes: products.nodes.map((node) => (node.legacyResourceId === first ? change(node) : node)),
        },
      };
    });
    const pages = await Array.fromAsync(readPages(odd, undefined, live()));
    expect(pages.flatMap(({ unread }) => unread)).toContain(BigInt(first));
    const whole = pages.flatMap(({ products }) =>
      products.flatMap((read) => ("product" in read ? [`${read.product.id}`] : [])),
    );
    expect(whole).toContain(second);
    expect(whole).not.toContain(first);
  });

  test.each([{ errors: [] }, { errors: null }])("%j means that there are no errors", async (extra) => {
    const url = startServer(() => Response.json({ data: { shop }, ...extra }));
    expect(await readShop(connect(url).request, live())).toMatchObject({ id: "1" });
  });
});

const operations: Record<string, (request: SendRequest) => Promise<unknown>> = {
  Shop: (request) => readShop(request, live()),
  ProductById: (request) => readFound(request, 1n, live()),
  ProductsPage: (request) => Array.fromAsync(readPages(request, undefined, live())),
  ProductsUpdatedSince: (request) => Array.fromAsync(listProducts(request, undefined, live())),
  DeletionsSince: (request) => Array.fromAsync(listDeletions(request, 0, live())),
  ProductByHandle: (request) => findProductId(request, "mug", live()),
  ProductsCount: (request) => countProducts(request, live()),
  WebhookSubscriptions: (request) => createSubscriptions(request, true).list(live().signal),
  BulkRun: (request) => runBulkOperation(request, "products", live(), createMemoryLog().log),
};
const page = { pageInfo: { hasNextPage: false, endCursor: null } };
const cases = (name: string, ...bodies: [unknown, string][]) =>
  bodies.map(([body, place]): [string, string, string] => [
    name,
    JSON.stringify(body),
    `the response has no valid ${place}`,
  ]);

describe("a response that the schema excludes", () => {
  test.each([
    ...Object.keys(operations).flatMap((name) => [
      ...cases(
        name,
        [{ data: null }, "data"],
        [{}, "data"],
        [[], "data"],
        [null, "data"],
        ["ok", "data"],
        [{ data: 1 }, "data"],
      ),
      ...["<!DOCTYPE html><p>Sign in</p>", "", '{"data":{"shop'].map((body): [string, string, string] => [
        name,
        body,
        "the response is incomplete or not JSON",
      ]),
    ]),
    ...cases("Shop", [{ data: {} }, "data.shop"], [{ data: { shop: { ...shop, id: 1 } } }, "data.shop.id"]),
    ...cases("ProductById", [{ data: { shop } }, "data.product"]),
    ...cases(
      "ProductsUpdatedSince",
      [{ data: {} }, "data.products"],
      [{ data: { products: { ...page } } }, "data.products.nodes"],
      [{ data: { products: { nodes: [] } } }, "data.products.pageInfo"],
      [{ data: { products: { nodes: [null], ...page } } }, "data.products.nodes[0]"],
      [
        { data: { products: { nodes: [{ legacyResourceId: "1", updatedAt: "soon" }], ...page } } },
        "data.products.nodes[0].updatedAt",
      ],
      [
        { data: { products: { nodes: [], pageInfo: { hasNextPage: true, endCursor: null } } } },
        "data.products.pageInfo.endCursor",
      ],
    ),
    ...cases("ProductsPage", [
      { data: { shop, products: { nodes: [{}], ...page } } },
      "data.products.nodes[0].legacyResourceId",
    ]),
    ...cases("DeletionsSince", [
      { data: { deletionEvents: { nodes: [{}], ...page } } },
      "data.deletionEvents.nodes[0].occurredAt",
    ]),
    ...cases("ProductByHandle", [
      { data: { productByIdentifier: { legacyResourceId: "x" } } },
      "data.productByIdentifier.legacyResourceId",
    ]),
    ...cases(
      "ProductsCount",
      [{ data: {} }, "data.productsCount"],
      [{ data: { productsCount: { count: "5" } } }, "data.productsCount.count"],
    ),
    ...cases("WebhookSubscriptions", [{ data: { webhookSubscriptions: null } }, "data.webhookSubscriptions"]),
    ...cases("BulkRun", [{ data: { bulkOperationRunQuery: {} } }, "data.bulkOperationRunQuery.bulkOperation"]),
  ])("fails %s, which names the place: %s", async (name, body, reason) => {
    let requests = 0;
    const url = startServer(() => {
      requests++;
      return new Response(body, { headers: { "Content-Type": "text/html" } });
    });
    const error = await failureOf(operations[name]?.(connect(url).request) ?? Promise.resolve());
    expect(error).toBeInstanceOf(PlatformError);
    expect(error.message).toBe(`Shopify request ${name} failed: ${reason}`);
    expect(requests).toBe(10);
  });

  test.each([
    [[null], "UNKNOWN: null"],
    [[{ message: "no", path: "product" }], "UNKNOWN: no"],
    [{ message: "no" }, "UNKNOWN: no"],
  ])("fails with the platform's reason if its errors are %j", async (errors, reason) => {
    const url = startServer(() => Response.json({ errors }));
    const error = await failureOf(readShop(connect(url).request, live()));
    expect(error.message).toBe(`Shopify request Shop failed: ${reason}`);
  });
});

test("no list of events is a failure, rather than no deletions", async () => {
  const lacking: SendRequest = async (operation) => {
    if (operation === "DestructionsSince") return { events: null } as never;
    throw new ShopifyError(operation, { kind: "graphql", codes: ["undefinedField"], message: "" });
  };
  const error = await failureOf(Array.fromAsync(listDeletions(lacking, 0, live())));
  expect(error).toBeInstanceOf(PlatformError);
  expect(error.message).toContain("the response has no events");
});

describe("a cost that cannot be right", () => {
  const status = { maximumAvailable: 2000, currentlyAvailable: 1000, restoreRate: 100 };

  /** Reads the shop three times. @returns the points that each response reports */
  async function reportsOf(cost: unknown) {
    const url = startServer(() => Response.json({ data: { shop }, extensions: { cost } }));
    const reports: (PointsReport | undefined)[] = [];
    const points: SharedPoints = {
      take: async () => 0,
      settle: async (refund, reported) => {
        expect(Math.abs(refund)).toBeLessThanOrEqual(1000);
        reports.push(reported);
      },
    };
    const { request } = connect(url, undefined, points);
    for (let number = 0; number < 3; number++) await readShop(request, live());
    expect(reports).toHaveLength(3);
    return reports;
  }

  test.each<[string, unknown]>([
    ["a budget far below zero", { requestedQueryCost: 1, throttleStatus: { ...status, currentlyAvailable: -1e12 } }],
    [
      "a request that costs more than there can be",
      { requestedQueryCost: 1e15, actualQueryCost: 1e15, throttleStatus: status },
    ],
    ["text", { requestedQueryCost: "1", throttleStatus: { ...status, currentlyAvailable: "none" } }],
    ["no budget", { requestedQueryCost: null, throttleStatus: null }],
  ])("such as %s does not stop the requests that follow", async (_, cost) => {
    for (const report of await reportsOf(cost)) expect(report?.currentlyAvailable ?? 0).toBeWithin(0, 2001);
  });

  test.each([1, 0, -5, 1e-9])("such as a restore rate of %d delays no request for minutes", async (restoreRate) => {
    const throttleStatus = { ...status, currentlyAvailable: 0, restoreRate };
    for (const report of await reportsOf({ requestedQueryCost: 1, actualQueryCost: 1, throttleStatus })) {
      expect(report).toMatchObject({ restoreRate: 100, currentlyAvailable: 0 });
    }
  });
});

describe("a later page that the schema excludes", () => {
  const id = BigInt(catalog.add({ shape: { metafields: 510 } }));
  let firstEnd = "";

  test.each<[string, (page: Json) => Json | null | undefined, string]>([
    ["is null", () => null, "the response has no valid data.product.metafields"],
    ["is absent", () => undefined, "was sent without its metafields"],
    ["has null", (page) => ({ ...page, nodes: [null] }), "the response has no valid data.product.metafields.nodes[0]"],
    [
      "does not end",
      (page) => ({ ...page, pageInfo: { hasNextPage: true, endCursor: firstEnd } }),
      "was sent with pages of its metafields that do not end",
    ],
  ])("fails the read of that product alone if it %s", async (_, change, message) => {
    const odd = changed((operation, data) => {
      const product = data.product as Json;
      if (operation !== "ProductMetafieldsPage") {
        firstEnd = (product.metafields as { pageInfo: { endCursor: string } }).pageInfo.endCursor;
        return data;
      }
      return { ...data, product: { ...product, metafields: change(product.metafields as Json) } };
    });
    const error = await failureOf(readFound(odd, id, live()));
    expect(error).toBeInstanceOf(UnusableProductError);
    expect((error as Error).message).toContain(message);
  });
});

test("pages of two states with the same updatedAt are not mixed, though one lags behind the other", async () => {
  const id = catalog.add({ shape: { metafields: 260 } });
  const changedAtMs = Date.parse(catalog.findProduct(id)?.updatedAt ?? "");
  const asked: string[] = [];
  let isFirst = true;
  const earlier = changed((_, data) =>
    isFirst ? { ...data, product: { ...(data.product as Json), title: "Before" } } : data,
  );
  // The platform's clock: eleven seconds after the change, and then later.
  const lagging: SendRequest = async (operation, variables, options) => {
    asked.push(operation);
    isFirst = asked.length <= 2;
    const answer = await earlier(operation, variables, options);
    return { ...answer, sent: { ...answer.sent, sentAtMs: changedAtMs + (isFirst ? 11_900 : 12_100) } };
  };
  const askedAtMs = performance.now();
  const { found, beganMs, isPaged } = await readProduct(lagging, BigInt(id), { ...live(), priority: "push" });
  // After the pause, so that it counts as later than a delivery during it.
  expect({ isPaged, isLater: beganMs - askedAtMs > 900 }).toEqual({ isPaged: true, isLater: true });
  const both = ["ProductById", "ProductById"];
  expect(asked).toEqual([...both, ...both, "ProductMetafieldsPage"]);
  expect(found?.product.title).not.toBe("Before");
});

test("a read within the lag of a change is not settled: it may show an earlier change of that second", async () => {
  const id = BigInt(catalog.add({}));
  const changedAtMs = Date.parse(catalog.findProduct(`${id}`)?.updatedAt ?? "");
  const isSettledAfter = async (ms: number) => {
    const dated = changed((_, data) => data);
    const read: SendRequest = async (operation, variables, options) => {
      const answer = await dated(operation, variables, options);
      return { ...answer, sent: { ...answer.sent, sentAtMs: changedAtMs + ms } };
    };
    return (await readFound(read, id, live()))?.isSettled;
  };
  expect(await isSettledAfter(11_999)).toBe(false);
  expect(await isSettledAfter(12_000)).toBe(true);
});
