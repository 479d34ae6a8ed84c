import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  buildSchema,
  NoDeprecatedCustomRule,
  parse,
  specifiedRules,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { checkRules } from "../../../packages/platform-stand-in/src/bulk/rules.ts";
import {
  priceRequested,
  singleQueryLimit,
  type Variables,
} from "../../../packages/platform-stand-in/src/graphql/cost.ts";
import { inlineFragments } from "../../../packages/platform-stand-in/src/graphql/selection.ts";
import { type ProductChanges, startStandIn } from "../../../packages/platform-stand-in/src/stand-in.ts";
import { runBulkOperation } from "../../../src/platforms/shopify/bulk/operation.ts";
import type { SendRequest } from "../../../src/platforms/shopify/client.ts";
import { listDeletions } from "../../../src/platforms/shopify/list-deletions.ts";
import { countProducts, findProductId, listProducts } from "../../../src/platforms/shopify/list-products.ts";
import { type OptionalField, optionalFields } from "../../../src/platforms/shopify/optional-fields.ts";
import {
  bulkQueries,
  createDocuments,
  type DocumentOptions,
  documents,
  type OperationName,
} from "../../../src/platforms/shopify/queries.ts";
import { readPages } from "../../../src/platforms/shopify/read-page.ts";
import { readProduct } from "../../../src/platforms/shopify/read-product.ts";
import { readShop } from "../../../src/platforms/shopify/shop.ts";
import { createSubscriptions } from "../../../src/platforms/shopify/subscriptions.ts";
import { connect, createMemoryLog, failureOf, live, watch } from "../../support/shopify.ts";

const folder = new URL("../../../packages/platform-stand-in/src/schema/", import.meta.url);
const schema = buildSchema(
  (
    await Promise.all(
      ["admin-2026-10.subset.graphql", "admin-2026-10.more.graphql"].map((file) =>
        Bun.file(new URL(file, folder)).text(),
      ),
    )
  ).join("\n"),
);

const texts = { ...documents, ...bulkQueries };

describe("a document", () => {
  test.each<[string, DocumentOptions]>([
    ["by default", {}],
    ["of another publication", { publication: "gid://shopify/Publication/1" }],
    ["with metafields of one namespace", { namespaces: ["global"] }],
    ["with metafields of two namespaces", { namespaces: ["global", "other"] }],
    ["without any optional field", { refused: new Set(Object.keys(optionalFields) as OptionalField[]) }],
    ...Object.keys(optionalFields).map((field): [string, DocumentOptions] => [
      `without ${field}`,
      { refused: new Set([field as OptionalField]) },
    ]),
  ])("is valid %s, and asks for no other field", (_, options) => {
    const created = createDocuments(options);
    for (const text of Object.values({ ...created.documents, ...created.bulkQueries })) {
      expect(validate(schema, parse(text), specifiedRules)).toEqual([]);
    }
    for (const field of options.refused ?? []) {
      const [type = "", name = ""] = field.split(".");
      const types = new TypeInfo(schema);
      const Field = (node: { readonly name: { readonly value: string } }) => {
        // The pages of a list are only sent after its first page.
        if (types.getParentType()?.name === type && node.name.value === name) expect.unreachable();
      };
      for (const text of [
        created.documents.ProductById,
        created.documents.ProductsPage,
        ...Object.values(created.bulkQueries),
      ]) {
        visit(parse(text), visitWithTypeInfo(types, { Field }));
      }
    }
  });

  test.each(Object.entries(documents))("has one operation with the name of the document: %s", (name, text) => {
    const names = parse(text).definitions.map((definition) => "name" in definition && definition.name?.value);
    expect(names).toEqual([name]);
  });

  test("uses only deprecated fields that the contract requires, and the list of deletions", () => {
    const warnings = Object.values(texts).flatMap((text) => validate(schema, parse(text), [NoDeprecatedCustomRule]));
    const fields = warnings.map(({ message }) => /^The field (\S+) is deprecated/.exec(message)?.[1] ?? message);
    expect([...new Set(fields)].toSorted()).toEqual([
      "Metafield.description",
      "Product.images",
      "ProductVariant.image",
      "ProductVariant.taxCode",
      "QueryRoot.deletionEvents",
    ]);
  });
});

describe("a bulk query", () => {
  test.each(Object.entries(bulkQueries))("follows Shopify's rules: %s", (_, text) => {
    expect(() => checkRules(schema, inlineFragments(parse(text)))).not.toThrow();
  });

  test.each(Object.entries(bulkQueries))("selects only the nodes of each list: %s", (_, text) => {
    visit(parse(text), {
      Field({ name, selectionSet }) {
        const selected = selectionSet?.selections.map((node) => ("name" in node ? node.name?.value : node.kind)) ?? [];
        if (selected.includes("edges")) expect(selected).toEqual(["edges"]);
        if (name.value === "edges") expect(selected).toEqual(["node"]);
        // The partitioner expects them at the start of a line.
        if (name.value === "node") expect(selected.slice(0, 2)).toEqual(["__typename", "id"]);
        expect(name.value).not.toBe("nodes");
      },
      VariableDefinition: () => expect.unreachable(),
      Variable: () => expect.unreachable(),
    });
  });
});

/**
 * Cost of each document in points, with the page sizes that the service sends. A query may cost at
 * most 1,000; on the smallest plan, the bucket holds 2,000 points and gains 100 per second.
 */
const prices: Record<OperationName, number | readonly number[]> = {
  // The second for a product that needs larger pages.
  ProductById: [95, 242],
  ProductsPage: 661,
  ProductIdsPage: 10,
  ProductVariantsPage: 87,
  ProductMetafieldsPage: 14,
  VariantMetafieldsPage: 15,
  ProductImagesPage: 14,
  ProductMediaPage: 25,
  ProductsUpdatedSince: 13,
  ProductByHandle: 1,
  ProductsCount: 1,
  DeletionsSince: 13,
  DestructionsSince: 13,
  Shop: 1,
  BulkRun: 10,
  BulkOperation: 1,
  BulkCancel: 10,
  WebhookSubscriptions: 11,
  WebhookSubscriptionCreate: 10,
  WebhookSubscriptionUpdate: 10,
  WebhookSubscriptionDelete: 10,
};

describe("reading the whole catalog", () => {
  const platform = startStandIn({
    now: () => Date.now() - 60_000,
    products: 3,
    specials: "all",
    bucket: { maximumAvailable: 1_000_000, restoreRate: 1_000_000 },
    bulk: { createdMs: 0, runningMs: 0, cancelingMs: 0 },
  });
  afterAll(() => platform.stop());
  const sent = new Map<OperationName, Variables[]>();
  const { request, lines } = connect(platform.graphqlUrl());

  beforeAll(async () => {
    const watched: SendRequest = watch(request, (operation, variables) => {
      sent.set(operation, [...(sent.get(operation) ?? []), variables as Variables]);
    });
    const { catalog } = platform;
    catalog.touch(catalog.idAt(0), { shape: { metafields: 260 } });
    const ids: string[] = [];
    for await (const page of listProducts(watched, undefined, live())) ids.push(...page.map(({ id }) => `${id}`));
    expect(ids.toSorted()).toEqual(catalog.ids(0, 1000).toSorted());
    await readShop(watched, live());
    await countProducts(watched, live());
    expect(await findProductId(watched, "no-such-handle", live())).toBeUndefined();
    await Array.fromAsync(listDeletions(watched, 0, live()));
    const app = platform.findApp();
    const { scopes } = app;
    app.scopes = new Set();
    await Array.fromAsync(listDeletions(watched, 0, live()));
    app.scopes = scopes;
    for (const id of ids) await readProduct(watched, BigInt(id), live());
    const subscriptions = createSubscriptions(watched, true);
    const address = "https://products.example.com/webhooks/shopify";
    await subscriptions.subscribe(address, live().signal);
    const [subscription] = await subscriptions.list(live().signal);
    expect(subscription).toMatchObject({ topic: "products/create", address });
    platform.subscriptions.update("default", subscription?.id ?? "", { includeFields: ["title"] });
    await subscriptions.subscribe(address, live().signal);
    expect(platform.subscriptions.list().map(({ includeFields }) => includeFields)).toEqual(
      subscriptions.topics.map(() => ["id", "updated_at"]),
    );
    if (subscription !== undefined) await subscriptions.unsubscribe(subscription, live().signal);
    expect(await subscriptions.list(live().signal)).toHaveLength(3);
    for await (const _ of readPages(watched, undefined, live()));
    // The platform has no such unit, so that the page that has this product fails.
    const setUnit = (unit: string) =>
      catalog.touch(catalog.idAt(1), {
        inventoryItems: { 1: { measurement: { weight: { unit, value: 1 } } } },
      } as ProductChanges);
    setUnit("STONES");
    const [page] = await Array.fromAsync(readPages(watched, undefined, live()));
    expect(page).toMatchObject({ products: [], unread: ids.map(BigInt).toSorted((a, b) => Number(a - b)) });
    setUnit("POUNDS");
    const { log } = createMemoryLog();
    await Promise.all([
      runBulkOperation(watched, "products", live(), log),
      runBulkOperation(watched, "media", live(), log),
    ]);
    platform.faults.add({ kind: "bulkStuck" });
    const controller = new AbortController();
    const leaving = watch(watched, (operation) => {
      if (operation === "BulkOperation") controller.abort();
    });
    await failureOf(runBulkOperation(leaving, "media", live(controller.signal), log));
  });

  const priceOf = (operation: OperationName, variables: Variables) => {
    const prepared = platform.executor.prepare(documents[operation], operation);
    if (!("operation" in prepared)) throw new Error(JSON.stringify(prepared.errors));
    return priceRequested(prepared.operation.plan, variables);
  };

  test.each(Object.entries(prices) as [OperationName, number | readonly number[]][])(
    "sends %s at a cost of %p points",
    (operation, points) => {
      const asked = (sent.get(operation) ?? []).map((variables) => priceOf(operation, variables));
      expect([...new Set(asked)]).toEqual([points].flat());
      expect(Math.max(...asked)).toBeLessThan(singleQueryLimit);
    },
  );

  test("needs only the scope read_products", () => {
    expect([...platform.findApp().scopes]).toEqual(["read_products"]);
    // Every failure is logged, even one that is retried.
    expect(lines).toEqual([]);
    expect(platform.counters.throttled).toBe(0);
  });
});

test("an address without https is refused, because Shopify does not deliver to it", async () => {
  const platform = startStandIn({ products: 1 });
  afterAll(() => platform.stop());
  const { request } = connect(platform.graphqlUrl());
  const address = "http://products.example.com/webhooks/shopify";
  await expect(createSubscriptions(request, true).subscribe(address, live().signal)).rejects.toThrow(
    `Shopify delivers only to https, not to ${address}: set PUBLIC_URL to an https:// URL`,
  );
  expect(platform.subscriptions.list()).toEqual([]);
});
