import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toJson } from "../../../src/base/json.ts";
import { type Product, productSchema, type Variant } from "../../../src/contract/product.ts";
import { type Id, maxId, toId } from "../../../src/contract/product-values.ts";
import type {
  CompleteProduct,
  CompleteVariant,
  ShopifyImage,
  ShopifyMedia,
  ShopifyMetafield,
} from "../../../src/platforms/shopify/complete-product.ts";
import { localTimeFormatter } from "../../../src/platforms/shopify/local-time.ts";
import { type ShopUnits, toProduct, unitsOf } from "../../../src/platforms/shopify/mapping.ts";

/** The result of Temporal, for comparison. */
const temporal = (utc: string, timeZone: string) =>
  Temporal.Instant.from(utc).toString({ timeZone, smallestUnit: "second" });

const zones = [
  "America/New_York",
  "America/St_Johns",
  "America/Sao_Paulo",
  "Europe/Berlin",
  "Europe/London",
  "Africa/Casablanca",
  "Africa/Monrovia",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Asia/Pyongyang",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "UTC",
];

const secondsOf = (utc: string) => Date.parse(utc) / 1000;
const utcOf = (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;

const timestamp = (from = "1970-01-01T00:00:00Z", until = "2025-12-31T23:59:59Z") =>
  fc.integer({ min: secondsOf(from), max: secondsOf(until) }).map(utcOf);

describe("a timestamp in the shop's zone", () => {
  test.each([
    // Spring: the local hour from two to three does not exist.
    ["America/New_York", "2026-03-08T07:00:00Z", "2026-03-08T03:00:00-04:00"],
    // Fall: the local hour from one to two occurs twice.
    ["America/New_York", "2026-11-01T06:30:00Z", "2026-11-01T01:30:00-05:00"],
    // Half an hour, in the southern hemisphere.
    ["Australia/Lord_Howe", "2026-04-04T15:00:00Z", "2026-04-05T01:30:00+10:30"],
    ["UTC", "2026-03-08T07:00:00Z", "2026-03-08T07:00:00+00:00"],
    ["Asia/Kolkata", "2024-02-28T20:00:00Z", "2024-02-29T01:30:00+05:30"],
    // Far from today.
    ["America/New_York", "1970-01-01T00:00:00Z", "1969-12-31T19:00:00-05:00"],
    ["America/New_York", "2100-07-01T12:00:00Z", "2100-07-01T08:00:00-04:00"],
    ["Europe/Berlin", "9999-12-31T12:00:00Z", "9999-12-31T13:00:00+01:00"],
    // Whole seconds.
    ["America/New_York", "2026-03-08T06:59:59.999Z", "2026-03-08T01:59:59-05:00"],
    ["America/New_York", "2026-03-08T06:59:59.999999999Z", "2026-03-08T01:59:59-05:00"],
    ["America/New_York", "2026-03-08T07:00:00.001Z", "2026-03-08T03:00:00-04:00"],
    ["America/New_York", "1969-12-31T23:59:59.5Z", "1969-12-31T18:59:59-05:00"],
  ])("in %s: %s is %s", (zone, utc, local) => {
    expect(localTimeFormatter(zone)(utc)).toBe(local);
  });

  test("equals Temporal's at any instant from 1970 to 2025, in any order", () => {
    const toLocal = new Map(zones.map((zone) => [zone, localTimeFormatter(zone)]));
    fc.assert(
      fc.property(fc.constantFrom(...zones), timestamp(), (zone, utc) => {
        expect(toLocal.get(zone)?.(utc)).toBe(temporal(utc, zone));
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    "",
    "yesterday",
    "1773000000",
    "2026-03-08",
    "2026-03-08T06:30:00",
    "2026-02-30T06:30:00Z",
    "2026-13-01T06:30:00Z",
    "2026-03-08T25:00:00Z",
    "2026-03-08T06:30:00Z?",
  ])("is rejected when it is not an instant: %j", (utc) => {
    expect(() => localTimeFormatter("America/New_York")(utc)).toThrow(RangeError);
  });

  test.each(["America/Larkspur", "", "Eastern Standard Time"])("needs a known zone, not %j", (zone) => {
    expect(() => localTimeFormatter(zone)).toThrow(`time zone ${JSON.stringify(zone)} is unknown`);
  });
});

const toPlatformMetafield = (changes: Partial<ShopifyMetafield> = {}): ShopifyMetafield => ({
  id: "gid://shopify/Metafield/201",
  legacyResourceId: "201",
  namespace: "global",
  key: "long_desc",
  value: "<p>Long</p>",
  type: "string",
  description: "What it is",
  createdAt: "2026-01-05T15:00:00Z",
  updatedAt: "2026-07-05T15:00:00Z",
  ...changes,
});

const toPlatformImage = (number: number | string, changes: Partial<ShopifyImage> = {}): ShopifyImage => ({
  id: `gid://shopify/ProductImage/${number}`,
  url: `https://cdn.example/files/${number}.jpg?v=1700000000`,
  altText: null,
  width: 800,
  height: 600,
  ...changes,
});

/** The medium of the image with that number; its year of creation is what tests tell it by. */
const toPlatformMedium = (number: number | string, year: number) => ({
  createdAt: `${year}-01-05T16:00:00Z`,
  updatedAt: `${year}-07-05T16:00:00Z`,
  image: { url: `https://cdn.example/files/${number}.jpg?v=1700000001` },
});

const toPlatformVariant = (changes: Partial<CompleteVariant> = {}): CompleteVariant => ({
  id: "gid://shopify/ProductVariant/401",
  legacyResourceId: "401",
  title: "Large / Blue",
  sku: "010",
  barcode: "0123456789012",
  position: 1,
  price: "949.95",
  compareAtPrice: "1200.00",
  taxable: true,
  taxCode: "PC040100",
  inventoryPolicy: "DENY",
  inventoryQuantity: 7,
  createdAt: "2026-01-05T17:00:00Z",
  updatedAt: "2026-07-05T17:00:00Z",
  selectedOptions: [
    { name: "Size", value: "Large" },
    { name: "Color", value: "Blue" },
  ],
  image: { id: "gid://shopify/ProductImage/501" },
  inventoryItem: {
    legacyResourceId: "601",
    tracked: true,
    requiresShipping: true,
    measurement: { weight: { unit: "POUNDS", value: 1.25 } },
  },
  metafields: [],
  ...changes,
});

const toPlatformItem = (changes: Partial<CompleteVariant["inventoryItem"]>): Partial<CompleteVariant> => ({
  inventoryItem: { ...toPlatformVariant().inventoryItem, ...changes },
});

const toPlatformProduct = (changes: Partial<CompleteProduct> = {}): CompleteProduct => ({
  id: "gid://shopify/Product/101",
  legacyResourceId: "101",
  title: "Plate",
  descriptionHtml: "<p>A plate.</p>",
  handle: "plate",
  createdAt: "2026-01-05T14:00:00Z",
  updatedAt: "2026-07-05T14:00:00Z",
  publishedAt: "2026-03-08T07:00:00Z",
  productType: "Dinnerware",
  status: "ACTIVE",
  tags: ["best seller", "color:blue"],
  templateSuffix: "gift",
  vendor: "Maker",
  options: [
    { id: "gid://shopify/ProductOption/301", name: "Size", position: 1, values: ["Large", "Small"] },
    { id: "gid://shopify/ProductOption/302", name: "Color", position: 2, values: ["Blue"] },
  ],
  images: [toPlatformImage(501, { altText: "From above" })],
  media: [toPlatformMedium(501, 2026)],
  metafields: [toPlatformMetafield()],
  variants: [
    toPlatformVariant({
      metafields: [
        toPlatformMetafield({ id: "gid://shopify/Metafield/202", legacyResourceId: "202", key: "sku_status" }),
      ],
    }),
  ],
  ...changes,
});

const newYork: ShopUnits = unitsOf("America/New_York", "POUNDS", 0);

/** Maps a product, which must have all fields of the contract, no others, in its order. */
function mapped(changes: Partial<CompleteProduct> = {}): Product {
  const product = toProduct(toPlatformProduct(changes), newYork);
  expect(toJson(product)).toBe(toJson(productSchema.parse(product)));
  return product;
}

const mappedVariant = (changes: Partial<CompleteVariant>): Variant | undefined =>
  mapped({ variants: [toPlatformVariant(changes)] }).variants[0];

describe("a Shopify product", () => {
  test("maps every field of the contract", () => {
    const image = {
      id: 501,
      product_id: 101,
      position: 1,
      width: 800,
      height: 600,
      src: "https://cdn.example/files/501.jpg?v=1700000000",
      created_at: "2026-01-05T11:00:00-05:00",
      updated_at: "2026-07-05T12:00:00-04:00",
      variant_ids: [401],
      alt: "From above",
      admin_graphql_api_id: "gid://shopify/ProductImage/501",
    };
    const metafield = {
      id: 201,
      owner_id: 101,
      owner_resource: "product" as const,
      namespace: "global",
      key: "long_desc",
      value: "<p>Long</p>",
      type: "string",
      description: "What it is",
      created_at: "2026-01-05T10:00:00-05:00",
      updated_at: "2026-07-05T11:00:00-04:00",
      admin_graphql_api_id: "gid://shopify/Metafield/201",
    };
    expect(mapped()).toEqual({
      id: 101,
      title: "Plate",
      body_html: "<p>A plate.</p>",
      handle: "plate",
      created_at: "2026-01-05T09:00:00-05:00",
      updated_at: "2026-07-05T10:00:00-04:00",
      published_at: "2026-03-08T03:00:00-04:00",
      product_type: "Dinnerware",
      published_scope: "web",
      status: "active",
      tags: "best seller, color:blue",
      template_suffix: "gift",
      vendor: "Maker",
      admin_graphql_api_id: "gid://shopify/Product/101",
      images: [image],
      image,
      options: [
        { id: 301, product_id: 101, position: 1, name: "Size", values: ["Large", "Small"] },
        { id: 302, product_id: 101, position: 2, name: "Color", values: ["Blue"] },
      ],
      variants: [
        {
          id: 401,
          product_id: 101,
          inventory_item_id: 601,
          position: 1,
          image_id: 501,
          barcode: "0123456789012",
          sku: "010",
          title: "Large / Blue",
          price: "949.95",
          compare_at_price: "1200.00",
          fulfillment_service: "manual",
          inventory_management: "shopify",
          inventory_policy: "deny",
          inventory_quantity: 7,
          old_inventory_quantity: 7,
          requires_shipping: true,
          taxable: true,
          tax_code: "PC040100",
          grams: 567,
          weight: 1.25,
          weight_unit: "lb",
          option1: "Large",
          option2: "Blue",
          option3: null,
          created_at: "2026-01-05T12:00:00-05:00",
          updated_at: "2026-07-05T13:00:00-04:00",
          admin_graphql_api_id: "gid://shopify/ProductVariant/401",
          metafields: [
            {
              ...metafield,
              id: 202,
              owner_id: 401,
              owner_resource: "variant",
              key: "sku_status",
              admin_graphql_api_id: "gid://shopify/Metafield/202",
            },
          ],
        },
      ],
      metafields: [metafield],
    });
  });

  test.each<[keyof CompleteProduct, unknown, keyof Product, unknown]>([
    ["title", "Größe 👩‍👩‍👧", "title", "Größe 👩‍👩‍👧"],
    ["descriptionHtml", "", "body_html", ""],
    ["vendor", "", "vendor", ""],
    ["productType", "", "product_type", ""],
    ["publishedAt", null, "published_at", null],
    ["status", "ARCHIVED", "status", "archived"],
    ["status", "DRAFT", "status", "draft"],
    ["status", "UNLISTED", "status", "active"],
    ["tags", [], "tags", ""],
    ["templateSuffix", null, "template_suffix", null],
    ["templateSuffix", "", "template_suffix", ""],
    ["options", [], "options", []],
    ["metafields", [], "metafields", []],
    ["variants", [], "variants", []],
    ["images", [], "images", []],
    ["images", [], "image", null],
  ])("with the %s %j has the %s %j", (from, value, field, expected) => {
    expect(mapped({ [from]: value })[field]).toEqual(expected as Product[typeof field]);
  });

  test.each<[keyof CompleteProduct, string, string]>([
    ["status", "PAUSED", "it has the unknown status PAUSED"],
    ["id", "gid://shopify/Order/632910392", "it was sent with the identifier gid://shopify/Order/632910392"],
  ])("with the %s %s is rejected", (field, value, message) => {
    expect(() => mapped({ [field]: value })).toThrow(message);
  });

  test("orders options and variants by position", () => {
    const { options, variants } = mapped({
      options: [
        { id: "gid://shopify/ProductOption/2", name: "Color", position: 2, values: ["Blue"] },
        { id: "gid://shopify/ProductOption/1", name: "Size", position: 1, values: ["Large"] },
      ],
      variants: [3, 1, 2].map((position) => toPlatformVariant({ legacyResourceId: `${position}`, position })),
    });
    expect(options.map(({ id, position, name }) => [id, position, name])).toEqual([
      [1, 1, "Size"],
      [2, 2, "Color"],
    ]);
    expect(variants.map(({ id, position }) => [id, position])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(variants[0]).toMatchObject({ option1: "Large", option2: "Blue", option3: null });
  });
});

describe("a Shopify variant", () => {
  test.each<[keyof CompleteVariant, unknown, keyof Variant, unknown]>([
    ["title", "Default Title", "title", "Default Title"],
    ["position", 7, "position", 7],
    ["sku", null, "sku", ""],
    ["sku", "", "sku", ""],
    ["barcode", null, "barcode", ""],
    ["taxCode", null, "tax_code", ""],
    ["taxable", false, "taxable", false],
    ["image", null, "image_id", null],
    ["inventoryPolicy", "CONTINUE", "inventory_policy", "continue"],
    ["inventoryQuantity", null, "inventory_quantity", 0],
    ["inventoryQuantity", null, "old_inventory_quantity", 0],
    ["inventoryQuantity", -3, "inventory_quantity", -3],
    ["inventoryQuantity", -3, "old_inventory_quantity", -3],
    ["price", "10.0", "price", "10.00"],
    ["price", "10", "price", "10.00"],
    ["price", "10.", "price", "10.00"],
    ["price", "0.1", "price", "0.10"],
    ["price", "0", "price", "0.00"],
    ["price", "12.500", "price", "12.50"],
    ["price", "3000.0000", "price", "3000.00"],
    ["price", "-5.5", "price", "-5.50"],
    // A double would make these 90071992547409.92 and 9007199254740992.00.
    ["price", "90071992547409.93", "price", "90071992547409.93"],
    ["price", "9007199254740993", "price", "9007199254740993.00"],
    ["compareAtPrice", null, "compare_at_price", null],
    ["compareAtPrice", "1200.5", "compare_at_price", "1200.50"],
    ["compareAtPrice", "1200", "compare_at_price", "1200.00"],
  ])("with the %s %j has the %s %j", (from, value, field, expected) => {
    expect(mappedVariant({ [from]: value })?.[field]).toEqual(expected as Variant[typeof field]);
  });

  test.each<[Partial<CompleteVariant["inventoryItem"]>, Partial<Variant>]>([
    [{ legacyResourceId: "602" }, { inventory_item_id: 602 }],
    [{ tracked: false }, { inventory_management: null }],
    [{ requiresShipping: false }, { requires_shipping: false }],
  ])("with an inventory item of %j has %j", (item, expected) => {
    expect(mappedVariant(toPlatformItem(item))).toMatchObject(expected);
  });

  test.each([
    ["POUNDS", 1, "lb", 454],
    ["OUNCES", 1, "oz", 28],
    ["OUNCES", 12.5, "oz", 354],
    ["GRAMS", 250, "g", 250],
    ["GRAMS", 0.5, "g", 1],
    ["KILOGRAMS", 1.2345, "kg", 1235],
    ["KILOGRAMS", 0, "kg", 0],
  ] as const)("converts a weight of %s %d to %s and %d grams", (unit, value, name, grams) => {
    const variant = mappedVariant(toPlatformItem({ measurement: { weight: { unit, value } } }));
    expect(variant).toMatchObject({ weight: value, weight_unit: name, grams });
  });

  test("without a weight has weight 0 in the unit of the shop", () => {
    const product = toPlatformProduct({
      variants: [toPlatformVariant(toPlatformItem({ measurement: { weight: null } }))],
    });
    const [variant] = toProduct(product, unitsOf("Europe/Berlin", "KILOGRAMS", 0)).variants;
    expect(variant).toMatchObject({ weight: 0, weight_unit: "kg", grams: 0 });
  });

  test.each([
    [true, "gift_card"],
    [false, "manual"],
    [undefined, "manual"],
  ])("of a product whose isGiftCard is %j has the fulfillment service %s", (isGiftCard, service) => {
    expect(mapped({ ...(isGiftCard !== undefined && { isGiftCard }) }).variants[0]?.fulfillment_service).toBe(service);
  });

  test("with an unknown unit of weight is rejected", () => {
    const measurement = { weight: { unit: "STONES" as never, value: 1 } };
    expect(() => mappedVariant(toPlatformItem({ measurement }))).toThrow("unknown unit of weight: STONES");
  });

  test.each([
    ["price", "1.525"],
    ["price", ""],
    ["compareAtPrice", "12.3450"],
  ])("with the %s %j, which two decimal places cannot express, is rejected", (field, amount) => {
    expect(() => mappedVariant({ [field]: amount })).toThrow(
      `the ${field} of a variant is ${amount}, expected at most`,
    );
  });

  const [size, color, material] = ["Size", "Color", "Material"].map((name, index) => ({
    id: `gid://shopify/ProductOption/${index + 1}`,
    name,
    position: index + 1,
    values: [],
  }));
  const [large, blue, steel] = [
    { name: "Size", value: "Large" },
    { name: "Color", value: "Blue" },
    { name: "Material", value: "Steel" },
  ];
  test.each([
    ["all three", [size, color, material], [large, blue, steel], ["Large", "Blue", "Steel"]],
    ["another order", [size, color, material], [steel, large, blue], ["Large", "Blue", "Steel"]],
    ["the second missing", [size, color, material], [large, steel], ["Large", null, "Steel"]],
    ["one that the product has not", [size, color], [large, blue, steel], ["Large", "Blue", null]],
    ["one", [size], [large], ["Large", null, null]],
    ["none", [], [], [null, null, null]],
  ])("orders its options by name: %s", (_, options, selectedOptions, expected) => {
    const [variant] = mapped({
      options: options.filter((option) => option !== undefined),
      variants: [toPlatformVariant({ selectedOptions: selectedOptions.filter((option) => option !== undefined) })],
    }).variants;
    expect([variant?.option1, variant?.option2, variant?.option3]).toEqual(expected as (string | null)[]);
  });
});

/** Which year each image was created in: 2026 is the product's own. */
const yearsOf = (changes: Partial<CompleteProduct>) =>
  mapped(changes).images.map(({ created_at, updated_at }) => {
    expect(updated_at.slice(0, 4)).toBe(created_at.slice(0, 4));
    return Number(created_at.slice(0, 4));
  });

const video: ShopifyMedia = {};
/** An image that is not processed yet, or that failed. */
const unfinished: ShopifyMedia = { ...toPlatformMedium(0, 2001), image: null };
const images = [1, 2, 3].map((number) => toPlatformImage(number));
const [first, second, third] = [toPlatformMedium(1, 2011), toPlatformMedium(2, 2012), toPlatformMedium(3, 2013)];
const [strange, stranger] = [toPlatformMedium("strange", 2021), toPlatformMedium("stranger", 2022)];
const same = toPlatformImage(4, { url: "https://cdn.example/files/same.jpg?v=1" });
const atSame = (year: number) => toPlatformMedium("same", year);

describe("a Shopify image", () => {
  test.each<[string, readonly ShopifyImage[], readonly ShopifyMedia[], number[]]>([
    ["other query strings", images, [first, second, third], [2011, 2012, 2013]],
    ["no query string", [toPlatformImage(1, { url: "https://cdn.example/files/1.jpg" })], [second, first], [2011]],
    ["another order", images, [third, first, second], [2011, 2012, 2013]],
    ["videos and models between", images, [video, first, video, second, video, third], [2011, 2012, 2013]],
    ["unfinished images between", images, [unfinished, first, second, unfinished, third], [2011, 2012, 2013]],
    ["another address for all", images, [strange, stranger, atSame(2023)], [2021, 2022, 2023]],
    ["another address for the second", images, [first, strange, third], [2011, 2021, 2013]],
    ["another address for two, and videos", images, [video, strange, second, unfinished, stranger], [2021, 2012, 2022]],
    ["one address for all", [same, same, same], [atSame(2031), atSame(2032), atSame(2033)], [2031, 2032, 2033]],
    ["one address for two", [same, ...images], [first, atSame(2031), atSame(2032), third], [2031, 2011, 2032, 2013]],
    ["one address for two, one medium there", [same, same], [atSame(2031), strange], [2031, 2021]],
    ["fewer media", images, [third], [2026, 2026, 2013]],
    ["fewer media, and another address", images, [strange, third], [2021, 2026, 2013]],
    ["more media", images.slice(0, 1), [strange, second, first], [2011]],
    ["videos only", images, [video, video, video], [2026, 2026, 2026]],
    ["media without timestamps", images, [{ image: { url: same.url } } as ShopifyMedia, second], [2026, 2012, 2026]],
    ["no media", images, [], [2026, 2026, 2026]],
    ["another host", images.slice(0, 1), [{ ...strange, image: { url: "https://b.example/files/1.jpg" } }], [2021]],
    [
      "the same file on two hosts",
      [toPlatformImage(1, { url: "https://a.example/1.jpg" }), toPlatformImage(2, { url: "https://b.example/1.jpg" })],
      [
        { ...first, image: { url: "https://b.example/1.jpg" } },
        { ...second, image: { url: "https://a.example/1.jpg" } },
      ],
      [2012, 2011],
    ],
  ])("has the timestamps of its medium: %s", (_, images, media, years) => {
    expect(yearsOf({ images, media })).toEqual(years);
  });

  test("has the timestamps of its medium at any position", () => {
    const shuffled = fc
      .uniqueArray(fc.integer({ min: 1900, max: 2020 }), { maxLength: 40 })
      .chain((years) => fc.tuple(fc.constant(years), fc.shuffledSubarray(years, { minLength: years.length })));
    fc.assert(
      fc.property(shuffled, fc.array(fc.nat(), { maxLength: 5 }), ([years, order], videos) => {
        const media: ShopifyMedia[] = order.map((year) => toPlatformMedium(year, year));
        for (const place of videos) media.splice(place % (media.length + 1), 0, video);
        expect(yearsOf({ images: years.map((year) => toPlatformImage(year)), media })).toEqual(years);
      }),
    );
  });

  test("without a medium has the product's own timestamps", () => {
    const product = mapped({ media: [] });
    expect(product.image).toMatchObject({ created_at: product.created_at, updated_at: product.updated_at });
  });

  test.each<[Partial<ShopifyImage>, Partial<Product["images"][number]>]>([
    [
      { width: null, height: null },
      { width: 0, height: 0 },
    ],
    [{ altText: null }, { alt: null }],
    [{ altText: "" }, { alt: "" }],
    [{ url: "https://cdn.example/a%20b.jpg?v=1&w=2" }, { src: "https://cdn.example/a%20b.jpg?v=1&w=2" }],
  ])("with %j has %j", (changes, expected) => {
    expect(mapped({ images: [toPlatformImage(501, changes)] }).image).toMatchObject(expected);
  });

  test("has its index as position, and the first one is the product's image", () => {
    const product = mapped({ images: [30, 10, 20].map((number) => toPlatformImage(number)), media: [video] });
    expect(product.images.map(({ id, position }) => [id, position])).toEqual([
      [30, 1],
      [10, 2],
      [20, 3],
    ]);
    expect(product.image).toEqual(product.images[0] ?? null);
  });

  test.each([
    null,
    "",
    "2",
    "gid://shopify/MediaImage/2",
    "gid://shopify/ImageSource/2",
    "gid://shopify/ProductImage/",
    "gid://shopify/ProductImage/2x",
    "gid://shopify/ProductImage/2e1",
    "gid://shopify/ProductImage/02",
    "gid://shopify/ProductImage/9223372036854775808",
  ])("is left out with its medium when its identifier is %j", (id) => {
    const [one, two, three] = images as [ShopifyImage, ShopifyImage, ShopifyImage];
    const product = mapped({
      images: [one, { ...two, id }, three],
      media: [first, second, toPlatformMedium("elsewhere", 2013)],
      variants: [toPlatformVariant({ image: { id } })],
    });
    expect(product.images.map(({ id, position, created_at }) => [id, position, created_at.slice(0, 4)])).toEqual([
      [1, 1, "2011"],
      [3, 2, "2013"],
    ]);
    expect(product.images.map((image) => image.variant_ids)).toEqual([[], []]);
    expect(product.variants[0]?.image_id).toBeNull();
  });

  test("lists the variants that it shows, in their order", () => {
    const shown = [2, 1, null, 2, 9];
    const variants = shown.map((number, index) =>
      toPlatformVariant({
        legacyResourceId: `${401 + index}`,
        position: shown.length - index,
        image: number === null ? null : { id: `gid://shopify/ProductImage/${number}` },
      }),
    );
    const product = mapped({ images, variants });
    expect(product.images.map(({ id, variant_ids }) => [id, variant_ids])).toEqual([
      [1, [402]],
      [2, [404, 401]],
      [3, []],
    ]);
    expect(product.variants.map(({ image_id }) => image_id)).toEqual([9, 2, null, 1, 2]);
  });
});

describe("an identifier beyond 2^53", () => {
  const beyond = ["9007199254740992", "9007199254740993", "9007199254740995", `${maxId}`];

  test.each(beyond)("stays exact in every field: %s", (id) => {
    const metafields = [toPlatformMetafield({ id: `gid://shopify/Metafield/${id}`, legacyResourceId: id })];
    const product = mapped({
      id: `gid://shopify/Product/${id}`,
      legacyResourceId: id,
      options: [{ id: `gid://shopify/ProductOption/${id}`, name: "Size", position: 1, values: [] }],
      images: [toPlatformImage(id)],
      metafields,
      variants: [
        toPlatformVariant({
          legacyResourceId: id,
          image: { id: `gid://shopify/ProductImage/${id}` },
          metafields,
          ...toPlatformItem({ legacyResourceId: id }),
        }),
      ],
    });
    const exact = BigInt(id);
    expect(product).toMatchObject({
      id: exact,
      options: [{ id: exact, product_id: exact }],
      images: [
        {
          id: exact,
          product_id: exact,
          variant_ids: [exact],
          admin_graphql_api_id: `gid://shopify/ProductImage/${id}`,
        },
      ],
      metafields: [{ id: exact, owner_id: exact }],
      variants: [
        {
          id: exact,
          product_id: exact,
          inventory_item_id: exact,
          image_id: exact,
          metafields: [{ id: exact, owner_id: exact }],
        },
      ],
    });
    expect(toJson(product)).toContain(`{"id":${id},"product_id":${id},"inventory_item_id":${id},`);
  });

  test("is not rounded to its neighbor", () => {
    const variants = beyond.map((id, index) =>
      toPlatformVariant({ legacyResourceId: `${index}1`, image: { id: `gid://shopify/ProductImage/${id}` } }),
    );
    const product = mapped({ images: beyond.map((id) => toPlatformImage(id)), variants });
    expect(product.images.map((image) => image.variant_ids)).toEqual(variants.map((_, index) => [index * 10 + 1]));
  });

  test("is a bigint only beyond it", () => {
    expect(mapped({ legacyResourceId: "9007199254740991" }).id).toBe(9007199254740991);
  });
});

const digits = fc.oneof(fc.integer({ min: 1, max: 30 }).map(String), fc.bigInt({ min: 1n, max: maxId }).map(String));
const gid = (kind: string) => digits.map((id) => `gid://shopify/${kind}/${id}`);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const text = fc.string({ unit: "binary", maxLength: 8 });
const anyTimestamp = timestamp("1970-01-01T00:00:00Z", "2100-12-31T23:59:59Z");
const amount = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.constantFrom("", ".0", ".5", ".00", ".95", ".500"))
  .map((parts) => parts.join(""));
const imageId = maybe(
  fc.oneof(
    { weight: 4, arbitrary: gid("ProductImage") },
    gid("MediaImage"),
    text,
    text.map((tail) => `gid://shopify/ProductImage/${tail}`),
  ),
);
const url = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom("", "?v=1", "?v=2"))
  .map(([number, query]) => `https://cdn.example/${number}.jpg${query}`);
const optionName = fc.constantFrom("Size", "Color", "Material");

const metafield: fc.Arbitrary<ShopifyMetafield> = fc.record({
  id: gid("Metafield"),
  legacyResourceId: digits,
  namespace: text,
  key: text,
  value: text,
  type: text,
  description: maybe(text),
  createdAt: anyTimestamp,
  updatedAt: anyTimestamp,
});

const variant: fc.Arbitrary<CompleteVariant> = fc.record({
  id: gid("ProductVariant"),
  legacyResourceId: digits,
  title: text,
  sku: maybe(text),
  barcode: maybe(text),
  position: fc.integer({ min: 1, max: 2048 }),
  price: amount,
  compareAtPrice: maybe(amount),
  taxable: fc.boolean(),
  taxCode: maybe(text),
  inventoryPolicy: fc.constantFrom("DENY", "CONTINUE"),
  inventoryQuantity: maybe(fc.integer()),
  createdAt: anyTimestamp,
  updatedAt: anyTimestamp,
  selectedOptions: fc.array(fc.record({ name: optionName, value: text }), { maxLength: 3 }),
  image: maybe(fc.record({ id: imageId })),
  inventoryItem: fc.record({
    legacyResourceId: digits,
    tracked: fc.boolean(),
    requiresShipping: fc.boolean(),
    measurement: fc.record({
      weight: maybe(
        fc.record({
          unit: fc.constantFrom("POUNDS", "OUNCES", "GRAMS", "KILOGRAMS"),
          value: fc.double({ min: 0, max: 1e6, noNaN: true }),
        }),
      ),
    }),
  }),
  metafields: fc.array(metafield, { maxLength: 2 }),
});

const product: fc.Arbitrary<CompleteProduct> = fc.record({
  id: gid("Product"),
  legacyResourceId: digits,
  title: text,
  descriptionHtml: text,
  handle: text,
  createdAt: anyTimestamp,
  updatedAt: anyTimestamp,
  publishedAt: maybe(anyTimestamp),
  productType: text,
  status: fc.constantFrom("ACTIVE", "ARCHIVED", "DRAFT", "UNLISTED"),
  tags: fc.array(text),
  templateSuffix: maybe(text),
  vendor: text,
  options: fc.array(
    fc.record({
      id: gid("ProductOption"),
      name: optionName,
      position: fc.integer({ min: 1, max: 3 }),
      values: fc.array(text),
    }),
    { maxLength: 3 },
  ),
  images: fc.array(
    fc.record({ id: imageId, url, altText: maybe(text), width: maybe(fc.nat()), height: maybe(fc.nat()) }),
    { maxLength: 6 },
  ),
  media: fc.array(
    fc.oneof(
      fc.constant({}),
      fc.record({ createdAt: anyTimestamp, updatedAt: anyTimestamp, image: maybe(fc.record({ url })) }),
    ),
    { maxLength: 6 },
  ),
  metafields: fc.array(metafield, { maxLength: 2 }),
  variants: fc.array(variant, { maxLength: 5 }),
});

test("any Shopify product becomes one of the contract, with ordered fields and no identifiers that Shopify did not send", () => {
  const knownId = (gid: string | null | undefined): Id | null => {
    const id = gid?.match(/^gid:\/\/shopify\/ProductImage\/([1-9]\d*)$/)?.[1];
    return id === undefined || BigInt(id) > maxId ? null : toId(id);
  };
  fc.assert(
    fc.property(product, (any) => {
      const { images, variants } = mapped(any);
      expect(images.map(({ id }) => id)).toEqual(any.images.map(({ id }) => knownId(id)).filter((id) => id !== null));
      const inOrder = any.variants.toSorted((a, b) => a.position - b.position);
      expect(variants.map(({ image_id }) => image_id)).toEqual(inOrder.map(({ image }) => knownId(image?.id)));
      for (const { id, variant_ids } of images) {
        expect(variant_ids).toEqual(variants.filter(({ image_id }) => image_id === id).map((shown) => shown.id));
      }
    }),
    { numRuns: 500 },
  );
});
