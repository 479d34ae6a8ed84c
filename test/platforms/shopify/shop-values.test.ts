import { expect, test } from "bun:test";
import type { Product } from "../../../src/contract/product.ts";
import type { PlatformProduct, UnusableProduct } from "../../../src/platforms/platform.ts";
import { connectPlatform, startPlatform } from "../../support/platform.ts";

const shop = { weightUnit: "KILOGRAMS", ianaTimezone: "America/Vancouver" } as const;
const standIn = startPlatform({ products: 2, variants: 2, specials: ["nulls"], shop });
const [giftCard = "", plate = ""] = standIn.catalog.ids(0, 2);
standIn.catalog.touch(giftCard, { product: { isGiftCard: true, publishedAt: "2026-11-20T20:00:00Z" } });
standIn.catalog.touch(plate, {
  inventoryItems: {
    1: { measurement: { weight: null } },
    2: { measurement: { weight: { unit: "POUNDS", value: 1 } } },
  },
});

const platform = await connectPlatform(standIn);
const { signal } = new AbortController();

const productsOf = (read: Iterable<PlatformProduct | UnusableProduct>) =>
  [...read].flatMap((each) => ("product" in each ? [each.product] : []));

const ways: [string, () => Promise<Product[]>][] = [
  [
    "one by one",
    async () => {
      const ids = standIn.catalog.ids(0, 10).map(BigInt);
      const read = await Promise.all(ids.map((id) => platform.readProduct(id, { priority: "sync", signal })));
      return productsOf(read.flatMap(({ found }) => found ?? []));
    },
  ],
  [
    "page by page",
    async () => {
      const pages = await Array.fromAsync(platform.readPages(undefined, signal));
      return pages.flatMap(({ products }) => productsOf(products));
    },
  ],
  [
    "in bulk",
    async () => {
      await using snapshot = await platform.readCatalog(await platform.readShop(signal), signal);
      const products: Product[] = [];
      for await (const batch of snapshot.readProducts()) products.push(...productsOf(batch));
      return products;
    },
  ],
];

test.each(ways)(
  "products that are read %s have the shop's unit of weight and time zone, and gift cards",
  async (_, read) => {
    const products = new Map((await read()).map((product) => [`${product.id}`, product]));
    const valuesOf = (id: string, field: "fulfillment_service" | "weight_unit" | "grams") =>
      products.get(id)?.variants.map((variant) => variant[field]);
    expect(valuesOf(giftCard, "fulfillment_service")).toEqual(["gift_card", "gift_card"]);
    expect(valuesOf(plate, "fulfillment_service")).toEqual(["manual", "manual"]);
    expect(valuesOf(plate, "weight_unit")).toEqual(["kg", "lb"]);
    // British Columbia has not set its clocks back in 2026.
    expect(products.get(giftCard)?.published_at).toBe("2026-11-20T13:00:00-07:00");
    expect(valuesOf(plate, "grams")).toEqual([0, 454]);
    expect(valuesOf(standIn.catalog.idOfSpecial("nulls"), "weight_unit")).toEqual(["kg", "kg", "kg"]);
  },
);
