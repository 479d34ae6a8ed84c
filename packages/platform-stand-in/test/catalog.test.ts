import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { dig, digList, digText, productGid, queryProduct, sendQuery, walk } from "./client.ts";

const platform = startStandIn({ products: 60, specials: "all", bucket: { maximumAvailable: 1_000_000 } });
afterAll(() => platform.stop());
const { catalog } = platform;

test("the same seed generates the same product, another seed another one", async () => {
  const same = startStandIn({ products: 60, specials: "all" });
  const other = startStandIn({ products: 60, seed: 2 });
  const id = catalog.idAt(17);
  const mine = await queryProduct(platform, id);
  expect((await queryProduct(same, id)).data).toEqual(mine.data);
  expect(digText((await queryProduct(other, id)).data, "product.handle")).not.toBe(
    digText(mine.data, "product.handle"),
  );
  await Promise.all([same.stop(), other.stop()]);
});

test("the catalog contains the cases that a reader must handle", async () => {
  const products = await Promise.all(
    Array.from({ length: 60 }, (_, slot) => queryProduct(platform, catalog.idAt(slot))),
  );
  const seen = (path: string) => new Set(products.map(({ data }) => dig(data, `product.${path}`)));
  expect(seen("status")).toEqual(new Set(["ACTIVE", "ARCHIVED", "DRAFT", "UNLISTED"]));
  expect(seen("publishedAt")).toContain(null);
  expect(seen("templateSuffix")).toContain(null);
  expect(seen("options.length")).toEqual(new Set([1, 2, 3]));
  expect(seen("images.nodes.length")).toContain(0);
  const variants = products.flatMap(({ data }) => digList(data, "product.variants.nodes"));
  const units = new Set(variants.map((variant) => dig(variant, "inventoryItem.measurement.weight.unit")));
  expect(units).toEqual(new Set(["GRAMS", "KILOGRAMS", "OUNCES", "POUNDS", undefined]));
  for (const field of ["sku", "barcode", "compareAtPrice", "taxCode", "image"]) {
    expect(new Set(variants.map((variant) => dig(variant, field) === null))).toEqual(new Set([true, false]));
  }
});

describe("of the special products", () => {
  test("one has 260 images that match the media by host and path, not by index", async () => {
    const id = catalog.idOfSpecial("manyImages");
    const images = await readAll(
      id,
      "images(first: 250, after: $after) { nodes { id url } pageInfo { ...P } }",
      "images",
    );
    const fields = "id mediaContentType ... on MediaImage { status createdAt image { id url } }";
    const media = await readAll(
      id,
      `media(first: 250, after: $after) { nodes { ${fields} } pageInfo { ...P } }`,
      "media",
    );
    expect(images.length).toBe(260);
    const kinds = new Set(media.map((medium) => dig(medium, "mediaContentType")));
    expect(kinds).toEqual(new Set(["IMAGE", "VIDEO", "EXTERNAL_VIDEO", "MODEL_3D"]));
    expect(
      media.filter((medium) => dig(medium, "status") === "PROCESSING").map((medium) => dig(medium, "image")),
    ).toEqual([null]);

    const byPath = new Map(media.filter((m) => dig(m, "image.url")).map((m) => [pathOf(digText(m, "image.url")), m]));
    for (const image of images) expect(dig(byPath.get(pathOf(digText(image, "url"))), "createdAt")).toBeString();
    expect(images.some((image, index) => digText(image, "url") !== dig(media[index], "image.url"))).toBe(true);
    const ids = [...images.map((image) => digText(image, "id")), ...media.map((medium) => digText(medium, "id"))];
    expect(new Set(ids.map((gid) => gid.split("/").at(-1))).size).toBe(ids.length);
    expect(images.every((image) => digText(image, "id").startsWith("gid://shopify/ProductImage/"))).toBe(true);
  });

  test("one has media with other paths, matched only by their order", async () => {
    const { data } = await queryProduct(platform, catalog.idOfSpecial("movedMedia"));
    const images = digList(data, "product.images.nodes").map((image) => pathOf(digText(image, "url")));
    const media = digList(data, "product.media.nodes").map((medium) => pathOf(digText(medium, "image.url")));
    expect(images.length).toBe(media.length);
    expect(images.filter((path) => media.includes(path))).toEqual([]);
  });

  test("one has ids beyond the range of exact doubles", async () => {
    const { data } = await queryProduct(platform, "9007199254740993");
    expect(dig(data, "product.legacyResourceId")).toBe("9007199254740993");
    const variantId = digText(data, "product.variants.nodes.0.id");
    expect(variantId).toBe("gid://shopify/ProductVariant/9007199254740994");
    const text = "query ($id: ID!) { productVariant(id: $id) { id product { id } } }";
    const variant = await sendQuery(platform, text, { id: variantId });
    expect(dig(variant.data, "productVariant.product.id")).toBe(productGid("9007199254740993"));
  });

  test("one is null in every nullable field", async () => {
    const { data } = await queryProduct(platform, catalog.idOfSpecial("nulls"));
    expect(dig(data, "product")).toMatchObject({
      descriptionHtml: "",
      publishedAt: null,
      templateSuffix: null,
      tags: [],
    });
    const nothing = {
      sku: null,
      barcode: null,
      compareAtPrice: null,
      taxCode: null,
      inventoryQuantity: null,
      image: null,
    };
    for (const variant of digList(data, "product.variants.nodes")) {
      expect(variant).toMatchObject({ ...nothing, inventoryItem: { measurement: { weight: null } } });
    }
  });

  test("one is full of hostile text", async () => {
    const { data } = await queryProduct(platform, catalog.idOfSpecial("hostile"));
    const title = digText(data, "product.title");
    for (const part of ["</script>", "👩‍👩‍👧‍👦", "\u2028", "\u202E", "\\", '"']) expect(title).toContain(part);
    expect(digText(data, "product.images.nodes.0.altText")).toContain("DROP TABLE");
  });
});

/** All nodes of one list of a product; `field` takes `$after` and selects its pageInfo with `...P`. */
function readAll(id: string, field: string, name: string): Promise<unknown[]> {
  const text = `query ($id: ID!, $after: String) { product(id: $id) { ${field} } }
    fragment P on PageInfo { hasNextPage endCursor }`;
  return walk(platform, text, `product.${name}`, { id: productGid(id) });
}

function pathOf(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}
