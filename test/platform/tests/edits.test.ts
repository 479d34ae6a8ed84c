import { afterAll, describe, expect, test } from "bun:test";
import { createPlatform } from "../platform.ts";
import { ask, askProduct, dig, digList, digText, walkProducts } from "./client.ts";

const now = Date.UTC(2026, 10, 21, 9, 30, 15);
const platform = createPlatform({ products: 50, variants: 4, now: () => now, bucket: { maximumAvailable: 1_000_000 } });
afterAll(() => platform.stop());
const { catalog } = platform;

describe("an edit", () => {
  test("shows, moves updatedAt to now, and is found by the search", async () => {
    const id = catalog.idAt(1);
    expect(catalog.touch(id, { product: { title: "New title", tags: ["a", "b"] } })).toBe("2026-11-21T09:30:15Z");
    const { data } = await askProduct(platform, id);
    expect(dig(data, "product")).toMatchObject({
      title: "New title",
      tags: ["a", "b"],
      updatedAt: "2026-11-21T09:30:15Z",
    });
    const found = await walkProducts(platform, "updated_at:>='2026-11-21T00:00:00Z'");
    expect(found.map((product) => dig(product, "legacyResourceId"))).toEqual([id]);
  });

  test("within the same second moves updatedAt by one more, unless told the second", async () => {
    const id = catalog.idAt(2);
    catalog.touch(id);
    expect(catalog.touch(id)).toBe("2026-11-21T09:30:16Z");
    expect(catalog.touch(id, {}, { at: now / 1000 })).toBe("2026-11-21T09:30:15Z");
  });

  test("keeps what earlier edits changed", async () => {
    const id = catalog.idAt(3);
    catalog.touch(id, { variants: { 1: { price: "1.00" } } });
    catalog.touch(id, { variants: { 1: { sku: "S" }, 2: { sku: null } }, inventoryItems: { 1: { tracked: false } } });
    const { data } = await askProduct(platform, id);
    const changed = { price: "1.00", sku: "S", updatedAt: "2026-11-21T09:30:16Z", inventoryItem: { tracked: false } };
    expect(dig(data, "product.variants.nodes")).toMatchObject([changed, { sku: null }, {}, {}]);
  });

  test("of a variant's metafield may leave the product's updatedAt alone", async () => {
    const id = catalog.idAt(4);
    const before = await askProduct(platform, id);
    catalog.touch(id, { variantMetafields: { 2: { sku_status: "X" } } }, { keepUpdatedAt: true });
    const after = await askProduct(platform, id);
    expect(dig(after.data, "product.updatedAt")).toBe(dig(before.data, "product.updatedAt"));
    const metafield = "product.variants.nodes.1.metafields.nodes.0";
    expect(dig(after.data, metafield)).toMatchObject({ value: "X", updatedAt: "2026-11-21T09:30:15Z" });
    const found = await walkProducts(platform, "updated_at:>='2026-11-21T00:00:00Z'");
    expect(found.map((product) => dig(product, "legacyResourceId"))).not.toContain(id);
  });

  test("can add and take away variants, and leaves the others as they were", async () => {
    const id = catalog.idAt(5);
    const titles = async () => {
      const { data } = await askProduct(platform, id);
      return digList(data, "product.variants.nodes").map((variant) => digText(variant, "title"));
    };
    const before = await titles();
    catalog.touch(id, { shape: { variants: 6 } });
    const more = await titles();
    expect(more.slice(0, 4)).toEqual(before);
    expect(new Set(more).size).toBe(6);
    catalog.touch(id, { shape: { variants: 2 } });
    expect(await titles()).toEqual(before.slice(0, 2));
  });
});

describe("a product", () => {
  test("that is removed is null, and no longer listed", async () => {
    const id = catalog.idAt(6);
    const { data } = await askProduct(platform, id);
    const variantId = digText(data, "product.variants.nodes.0.id");
    await walkProducts(platform, "");
    catalog.remove(id);
    expect(dig((await askProduct(platform, id)).data, "product")).toBeNull();
    const text = "query ($id: ID!) { productVariant(id: $id) { id } node(id: $id) { id } }";
    expect((await ask(platform, text, { id: variantId })).data).toEqual({ productVariant: null, node: null });
    const listed = (await walkProducts(platform, "")).map((product) => dig(product, "legacyResourceId"));
    expect(listed).not.toContain(id);
    expect(() => catalog.touch(id)).toThrow("there is no product");
  });

  test("that is added is listed last, with an id of its own or a chosen one", async () => {
    const added = catalog.add({ product: { title: "Added" } });
    const chosen = catalog.add({ shape: { variants: 1 } }, "18446744073709551615");
    const listed = await walkProducts(platform, "updated_at:>='2026-11-21T00:00:00Z'");
    const ids = listed.map((product) => dig(product, "legacyResourceId"));
    expect(ids).toContain(added);
    expect(ids).toContain(chosen);
    expect(dig((await askProduct(platform, added)).data, "product")).toMatchObject({
      title: "Added",
      createdAt: "2026-11-21T09:30:15Z",
    });
    expect(dig((await askProduct(platform, chosen)).data, "product.legacyResourceId")).toBe("18446744073709551615");
    expect(() => catalog.add({}, chosen)).toThrow("there is a product");
  });
});
