import { afterAll, afterEach, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { bulkInner, dig, digText, finishRun, queryProduct, readLines, sendQuery } from "./client.ts";

const platform = startStandIn({ products: 5, bulk: { createdMs: 0, runningMs: 0, cancelingMs: 0 } });
afterAll(() => platform.stop());
afterEach(() => platform.fields.change({}));
const id = platform.catalog.idAt(0);

test("a denied field is null, or what it is in, with an error at its place", async () => {
  platform.fields.change({ denied: ["Product.templateSuffix", "ProductVariant.price"] });
  const query = "query Q($id: ID!) { product(id: $id) { id templateSuffix } }";
  const { data, errors } = await sendQuery(platform, query, { id: `gid://shopify/Product/${id}` });
  expect(dig(data, "product.templateSuffix")).toBeNull();
  expect(dig(errors, "0.path")).toEqual(["product", "templateSuffix"]);
  expect(dig(errors, "0.extensions.code")).toBe("ACCESS_DENIED");
  expect(dig((await queryProduct(platform, id)) as never, "data.product")).toBeFalsy();
  expect(dig(await finishRun(platform, bulkInner()), "errorCode")).toBe("ACCESS_DENIED");
});

test("a removed field does not exist until it is put back", async () => {
  platform.fields.change({ removed: ["Product.vendor"] });
  const query = "query Q($id: ID!) { product(id: $id) { vendor } }";
  const variables = { id: `gid://shopify/Product/${id}` };
  const { errors } = await sendQuery(platform, query, variables);
  expect(dig(errors, "0.message")).toBe("Field 'vendor' doesn't exist on type 'Product'");
  expect(dig(errors, "0.extensions")).toEqual({ code: "undefinedField", typeName: "Product", fieldName: "vendor" });
  platform.fields.change({});
  expect(dig((await sendQuery(platform, query, variables)).data, "product.vendor")).toBeString();
});

test("a product is found by its current handle, or by its id", async () => {
  const query = "query Q($by: ProductIdentifierInput!) { productByIdentifier(identifier: $by) { legacyResourceId } }";
  const find = async (by: Readonly<Record<string, string>>) => {
    const { data, errors } = await sendQuery(platform, query, { by });
    return errors === undefined ? (dig(data, "productByIdentifier.legacyResourceId") ?? null) : "refused";
  };
  const other = platform.catalog.idAt(1);
  const handle = platform.catalog.findProduct(other)?.handle ?? "";
  expect(await find({ handle })).toBe(other);
  expect(await find({ id: `gid://shopify/Product/${other}` })).toBe(other);
  platform.catalog.touch(other, { product: { handle: "renamed" } });
  const added = platform.catalog.add({ product: { handle } });
  expect([await find({ handle: "renamed" }), await find({ handle })]).toEqual([other, added]);
  platform.catalog.remove(added);
  expect([await find({ handle }), await find({ handle: "none" })]).toEqual([null, null]);
  expect([await find({}), await find({ handle, id: other })]).toEqual(["refused", "refused"]);
});

test("an unknown field is refused", () => {
  expect(() => platform.fields.change({ denied: ["Product.colour"] })).toThrow(
    'the schema has no field "Product.colour"',
  );
});

test("a repeated bulk run has lines twice, and counts them once", async () => {
  platform.faults.add({ kind: "bulkRepeated" });
  const run = await finishRun(platform, bulkInner());
  const lines = await readLines(digText(run, "url"));
  const objects = Number(digText(run, "objectCount"));
  expect(lines.length).toBeGreaterThan(objects);
  expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(objects);
});
