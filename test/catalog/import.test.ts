import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import type { Image, Metafield, Product } from "../../src/contract/product.ts";
import { toMetafield, toProduct, toVariant } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import {
  createStore,
  enginesOf,
  pds,
  serveUntilEnd,
  serveWithAndWithoutCache,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { parseResponse, Wire } from "../support/wire.ts";

for (const engine of enginesOf("postgres")) {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: await createStore(engine), SHOP_DOMAIN: "shop.example", BRAND: "acme" };
  const { text } = await serveWithAndWithoutCache(environment);
  const service = await serveUntilEnd({ ...environment, MEMORY_MEGABYTES: "0" });

  const write = async (content: string | Uint8Array, name = "products.json") =>
    (await writeFiles(folder, { [name]: content }))[0] ?? "";
  const importing = async (content: string | Uint8Array, ...options: string[]) =>
    importHere(["import", "products", await write(content), ...options], environment);
  const answer = (id: number | bigint) => text(`/api/v1/products/${id}`);
  const stored = (product: Product) => toJson({ product, shop: "shop.example", error: null });
  const newestHistory = async () => {
    const { histories } = JSON.parse(await text("/api/v1/histories")) as { histories: unknown[] };
    return histories[0];
  };

  describe(`on ${engine}, an import of products`, () => {
    const [one, two, three] = [toProduct(1), toProduct(2), toProduct(3)];
    beforeAll(() => importing(toJson(toProduct(99))));

    test.each([
      ["one document", toJson(one), [one]],
      ["one document, indented", JSON.stringify(one, null, 2), [one]],
      ["NDJSON", `${toJson(one)}\n${toJson(two)}\n`, [one, two]],
      ["NDJSON with CRLF, blank lines, and no final line break", `${toJson(one)}\r\n\r\n${toJson(two)}`, [one, two]],
      ["an array", JSON.stringify([one, two, three], null, 1), [one, two, three]],
      ["a wrapped product", JSON.stringify({ product: one }), [one]],
      ["wrapped products", JSON.stringify({ products: [one, two] }, null, 2), [one, two]],
      ["pages of wrapped products", `${toJson({ products: [one] })}\n${toJson({ products: [two] })}\n`, [one, two]],
      [
        "wrapped products beside a page and another list",
        JSON.stringify({
          meta: { products: [{ a: 1 }] },
          page_info: { next: "a:1" },
          products: [one, two],
          previous: [toProduct(1, { title: "Old" })],
        }),
        [one, two],
      ],
      ["a product and a list in a wrapper", JSON.stringify({ product: one, products: [two] }), [one, two]],
      ["a name with an escape", toJson({ products: [one] }).replace("products", "\\u0070roducts"), [one]],
      ["a wrapped product beside a page", JSON.stringify({ page: { product: 1 }, product: one }, null, 1), [one]],
      [
        "an array of wrappers",
        JSON.stringify([{ products: [{ product: one }] }, { page: 2, products: [] }, { products: [two] }]),
        [one, two],
      ],
      [
        "wrappers one after the other",
        `${toJson({ products: [one], page: 1 })}${toJson({ product: two })}`,
        [one, two],
      ],
      ["NDJSON of wrapped products", `${toJson({ product: one })}\n${toJson({ product: two })}\n`, [one, two]],
      ["byte order marks, as of joined files", `\uFEFF${toJson(one)}\n\uFEFF${toJson(two)}\uFEFF`, [one, two]],
    ])("reads %s and replaces the whole set", async (_, content, products) => {
      expect((await importing(content)).code).toBe(0);
      for (const product of [one, two, three]) {
        if (products.includes(product)) expect(await answer(product.id)).toBe(stored(product));
        else expect(await answer(product.id)).toContain('"product":null');
      }
      expect(await answer(99)).toContain('"product":null');
      expect(await newestHistory()).toMatchObject({ brand: "acme", counts: products.length });
    });

    test("reads several files as one set", async () => {
      const files = await Promise.all([write(toJson(one), "a.json"), write(`${toJson(two)}\n`, "b.ndjson")]);
      expect((await importHere(["import", "products", ...files], environment)).code).toBe(0);
      expect(await answer(1)).toBe(stored(one));
      expect(await answer(2)).toBe(stored(two));
    });

    test("of an empty list removes all products and counts zero", async () => {
      expect((await importing("[]")).code).toBe(0);
      expect(await answer(1)).toContain('"product":null');
      expect(await newestHistory()).toMatchObject({ counts: 0 });
    });

    test("keeps integers beyond 2^53 and all text unchanged", async () => {
      const id = 9007199254740993n;
      const long = `${"é😀".repeat(200_000)}end`;
      const awkward = 'emoji 👩‍👩‍👧 </script><!-- \r\n\t\u0001 \u2028 \\ " é e\u0301 \u0000 \ud800 ';
      const product = toProduct(id, {
        title: awkward,
        variants: [toVariant(id, { id: 9223372036854775807n, inventory_item_id: 9007199254740995n, sku: "010" })],
        metafields: [
          toMetafield(1, id, "product", "long_desc", long),
          toMetafield(2, id, "product", "ware_id", awkward),
        ],
      });
      expect(toJson(product)).toContain('"id":9007199254740993');
      expect(new TextEncoder().encode(long).length).toBeGreaterThan(1_000_000);
      expect((await importing(`${toJson(product)}\n`)).code).toBe(0);
      expect(await answer(id)).toBe(stored(product));
    });

    test("serves a large product with its length, also to HEAD", async () => {
      const product = toProduct(5, { body_html: "<p>é</p>".repeat(10_000) });
      expect((await importing(toJson(product))).code).toBe(0);
      for (const method of ["GET", "HEAD", "GET"]) {
        const response = await service.get("/api/v1/products/5", {
          method,
          headers: { "Accept-Encoding": "identity" },
        });
        expect(response.headers.get("content-length")).toBe(`${Buffer.byteLength(stored(product))}`);
        expect(await response.text()).toBe(method === "HEAD" ? "" : stored(product));
      }
      const whole = (bytes: Buffer) => parseResponse(bytes) !== undefined;
      for (let request = 0; request < 20; request++) {
        const wire = await Wire.open(service.url);
        wire.write("GET /api/v1/products/5 HTTP/1.1\r\nHost: shop.example\r\n\r\n");
        await wire.receive((bytes) => bytes.length > 0);
        expect(wire.bytes.includes("\r\n\r\n"), "the whole head arrives at once").toBe(true);
        await wire.receive(whole);
        expect(parseResponse(wire.bytes)?.body.toString()).toBe(stored(product));
        wire.end();
      }
    });

    test("derives fields that exports leave out", async () => {
      const { metafields: _, image: __, ...rest } = toProduct(5);
      const { metafields: ___, tax_code: ____, ...variant } = toVariant(5);
      const first = { ...toProduct(5).images[0], id: 502, position: 1 };
      const second = { ...first, id: 503, position: 2 };
      const document = {
        ...rest,
        body_html: null,
        images: [second, first],
        variants: [{ ...variant, image_id: 503, barcode: null, sku: null }],
        unknown: { nested: true },
      };
      expect((await importing(JSON.stringify({ product: document }))).code).toBe(0);
      const expected = {
        ...toProduct(5),
        body_html: "",
        images: [second, first],
        image: first,
        variants: [toVariant(5, { image_id: 503, sku: "", metafields: [] })],
        metafields: [],
      };
      expect(await answer(5)).toBe(stored(expected as Product));
    });

    test.each([
      ["3000", "3000.00"],
      ["12.500", "12.50"],
      ["12.5", "12.50"],
      ["9007199254740993", "9007199254740993.00"],
    ])("serves the price %s as %s", async (price, served) => {
      const variants = (price: string) => [toVariant(6, { price, compare_at_price: price })];
      expect((await importing(toJson(toProduct(6, { variants: variants(price) })))).code).toBe(0);
      expect(await answer(6)).toBe(stored(toProduct(6, { variants: variants(served) })));
      // Its own response, saved to a file.
      expect((await importing(await answer(6))).code).toBe(0);
      expect(await answer(6)).toBe(stored(toProduct(6, { variants: variants(served) })));
    });

    const [variant, image] = [toVariant(6), toProduct(6).images[0] as Image];
    const asUtc = "2026-03-08T06:30:00+00:00";
    const spell = (changes: object) => ({ ...toProduct(6), image: undefined, ...changes });
    test.each<[string, normal: object, spelled: object]>([
      ["a status in upper case", spell({}), spell({ status: "ACTIVE" })],
      ["a timestamp in UTC", spell({ published_at: asUtc }), spell({ published_at: "2026-03-08T06:30:00Z" })],
      [
        "fractions of seconds",
        spell({ created_at: "2026-03-08T01:30:59-05:00", updated_at: asUtc }),
        spell({ created_at: "2026-03-08T01:30:59.999-05:00", updated_at: "2026-03-08T06:30:00.5Z" }),
      ],
      [
        "timestamps of parts",
        spell({ variants: [{ ...variant, created_at: asUtc }], images: [{ ...image, updated_at: asUtc }] }),
        spell({
          variants: [{ ...variant, created_at: "2026-03-08T06:30:00Z" }],
          images: [{ ...image, updated_at: "2026-03-08T06:30:00.123Z" }],
        }),
      ],
      [
        "an image whose size is not known",
        spell({ images: [{ ...image, width: 0, height: 0 }], image: { ...image, width: 0, height: 0 } }),
        spell({ images: [{ ...image, width: null, height: null }], image: { ...image, width: null, height: null } }),
      ],
      [
        "parts without global identifiers",
        toProduct(6),
        JSON.parse(toJson(toProduct(6)), (name, value) => (name === "admin_graphql_api_id" ? undefined : value)),
      ],
      [
        "an empty price to compare with",
        spell({ variants: [{ ...variant, compare_at_price: null }] }),
        spell({ variants: [{ ...variant, compare_at_price: "" }] }),
      ],
    ])("serves %s like the normal spelling, with the same entity tag", async (_, normal, spelled) => {
      const response = async () => {
        const served = await service.get("/api/v1/products/6");
        return { body: await served.text(), tag: served.headers.get("etag") };
      };
      expect((await importing(toJson(normal))).code).toBe(0);
      const expected = await response();
      expect(expected.tag).toBeString();
      await importing("[]");
      expect((await response()).body).toContain('"product":null');
      expect((await importing(toJson(spelled))).code).toBe(0);
      expect(await response()).toEqual(expected);
    });

    test.each<[type: string, value: unknown, served: string]>([
      ["boolean", false, "false"],
      ["number_integer", 42, "42"],
      ["number_integer", 9007199254740993n, "9007199254740993"],
      ["integer", -1, "-1"],
      ["number_decimal", 12.5, "12.5"],
      ["number_decimal", 3, "3"],
      ["json", { size: [1, "two"] }, '{"size":[1,"two"]}'],
      ["json", true, "true"],
      ["list.single_line_text_field", ["a", "b"], '["a","b"]'],
      ["json", "[1]", "[1]"],
      ["number_decimal", "3.0", "3.0"],
    ])("serves the value of a metafield of the type %s, %p, as %s", async (type, value, served) => {
      const field = (owner: number, of: "product" | "variant", value: unknown) =>
        ({ ...toMetafield(201, owner, of, "size", ""), type, value }) as Metafield;
      const product = (value: unknown) =>
        toProduct(6, {
          metafields: [field(6, "product", value)],
          variants: [toVariant(6, { metafields: [field(401, "variant", value)] })],
        });
      expect((await importing(toJson(product(value)))).code).toBe(0);
      expect(await answer(6)).toBe(stored(product(served)));
    });

    test("accepts an image of a variant that is missing, as after the first 100 of an export", async () => {
      const images = toProduct(6).images.map((image) => ({ ...image, variant_ids: [401, 402] }));
      const product = toProduct(6, { images, image: images[0] as Image });
      expect((await importing(toJson(product))).code).toBe(0);
      expect(await answer(6)).toBe(stored(product));
    });

    test("reports a duplicate product, and the last one wins", async () => {
      const last = toProduct(7, { title: "Last" });
      const { code, stderr } = await importing([toProduct(7), toProduct(8), last].map(toJson).join("\n"));
      expect(code).toBe(0);
      expect(stderr).toMatch(/products\.json:3: duplicate product 7, first at .*products\.json:1; the last one wins/);
      expect(await answer(7)).toBe(stored(last));
      expect(await newestHistory()).toMatchObject({ counts: 2 });
    });

    test("names the fields beside the products of all wrappers once", async () => {
      const wrappers = [1, 2, 3].map((id) => ({ products: [toProduct(id)], page_info: {}, meta: { id } }));
      const { code, stderr } = await importing(`${wrappers.map(toJson).join("\n")}\n${await answer(99)}`);
      expect(code).toBe(1);
      const { stderr: notes } = await importing([...wrappers, { product: toProduct(4), shop: "a" }].map(toJson).join());
      expect(stderr).toContain("expected object: got null");
      expect(notes).toBe("ignored fields beside the products: page_info, meta, shop\n");
    });

    test("names the line of a rejected product in a wrapper", async () => {
      const content = `\n${JSON.stringify({ page: { a: 1 }, products: [toProduct(1), without("title")] }, null, 2)}`;
      const line = content.slice(0, content.indexOf('"id": 2,')).split("\n").length - 1;
      expect((await importing(content)).stderr).toContain(`products.json:${line}: title: is missing`);
    });

    const lines = (...documents: object[]) => documents.map(toJson).join("\n");
    const without = (field: keyof Product) => ({ ...toProduct(2), [field]: undefined });
    const bad = (changes: object) => lines(toProduct(1), { ...toProduct(2), ...changes }, toProduct(3));
    const badVariant = (changes: object) => bad({ variants: [toVariant(2), { ...toVariant(2), ...changes }] });
    describe("of an invalid file", () => {
      beforeAll(() => importing(toJson(toProduct(41))));

      const own = toProduct(2).images[0] as Image;
      const id = "expected a whole number from 1 to 9223372036854775807";
      const gid = 'expected the global identifier of its id: product 2, got "gid:/';
      const url = "expected a URL that starts with http:// or https://: product 2";
      const ofProduct: [problem: string, object][] = [
        ["title: is missing", { title: undefined }],
        [`id: ${id}: product "2", got "2"`, { id: "2" }],
        [`id: ${id}`, { id: 0 }],
        [`id: ${id}`, { id: 9223372036854775808n }],
        ["created_at: expected a timestamp", { created_at: "2026-01-01" }],
        ["created_at: expected a timestamp", { created_at: "2026-01-01T09:30:00" }],
        ...[
          "0000-00-00T00:00:00+00:00",
          "2026-02-30T09:30:00.5Z",
          "2026-01-01T23:59:60+00:00",
          "2026-01-01T00:00:00+24:00",
        ].map((created_at): [string, object] => [
          `created_at: expected a date and time that exist: product 2, got "${created_at.slice(0, 19)}`,
          { created_at },
        ]),
        ['status: expected one of active, archived, draft, unlisted: product 2, got " active"', { status: " ACTIVE" }],
        [`admin_graphql_api_id: ${gid}`, { admin_graphql_api_id: "gid://shopify/Product/7" }],
        [`admin_graphql_api_id: ${gid}`, { admin_graphql_api_id: "gid://shopify/Order/2" }],
        ["images[].width: expected 0 or more: product 2, images[0], got -1", { images: [{ ...own, width: -1 }] }],
        [`image.src: ${url}, got "javascript:alert(1)"`, { image: { ...own, src: "javascript:alert(1)" } }],
        [`images[].src: ${url}, images[0], got "https://[::1/"`, { images: [{ ...own, src: "https://[::1/" }] }],
        [`images[].src: ${url}, images[0], got "/plate.jpg"`, { images: [{ ...own, src: "/plate.jpg" }] }],
        ['title: expected text: product 2, got ""', { title: "" }],
        ['handle: expected text: product 2, got " \\t"', { handle: " \t" }],
        [
          "image.id: expected the id of one of its images: product 2, got 501",
          { images: [], variants: [toVariant(2, { image_id: null })] },
        ],
        [
          "variants[].metafields[].id: is used more than once: product 2, variants[0].metafields[1], got 202",
          { variants: [toVariant(2, { metafields: toVariant(2).metafields.flatMap((each) => [each, each]) })] },
        ],
        ["variants: is missing", { variants: undefined }],
        ...(
          [
            ["single_line_text_field", 42, "42"],
            ["number_integer", 4.5, "4.5"],
            ["boolean", 1, "1"],
            ["number_decimal", 0.1 + 0.2, "0.30000000000000004"],
            ["number_decimal", 1e-7, "1e-7"],
            ["json", null, "null"],
            ["json", { a: [1e-7] }, "an object"],
            ["list.number_decimal", [0.1 + 0.2], "a list"],
          ] as const
        ).map(([type, value, text]): [string, object] => [
          `metafields[].value: expected string: product 2, metafields[0], got ${text}\n`,
          { metafields: [{ ...toMetafield(201, 2, "product", "size", ""), type, value }] },
        ]),
      ];
      const ofVariant: [problem: string, object][] = [
        ["price: expected string: #, got 12.5", { price: 12.5 }],
        ['price: expected decimal text with at most two places, such as "49.95": #, got "12.345"', { price: "12.345" }],
        ["price: expected decimal text", { price: "1,5" }],
        ["position: is missing: #", { position: undefined }],
        [
          'admin_graphql_api_id: expected the global identifier of its id: #, got "gid:/',
          { admin_graphql_api_id: "gid://shopify/ProductVariant/7" },
        ],
        ['price: expected 0 or more: #, got "-', { price: "-0.01" }],
        ['compare_at_price: expected 0 or more: #, got "-', { compare_at_price: "-5" }],
        ["grams: expected 0 or more: #, got -", { grams: -1 }],
        ["weight: expected 0 or more: #, got -", { weight: -0.5 }],
        ["image_id: expected the id of one of its images: #, got 777", { image_id: 777 }],
        ["id: is used more than once: #, got 401", {}],
        ["product_id: expected the id of its product: #, got 7", { product_id: 7 }],
      ];
      const invalid: [problem: string, string][] = [
        ...ofProduct.map(([problem, changes]): [string, string] => [problem, bad(changes)]),
        ...ofVariant.map(([problem, changes]): [string, string] => [
          `variants[].${problem.replace("#", "product 2, variants[1]")}`,
          badVariant(changes),
        ]),
      ];
      const repeated = ':2: has the field "title" more than once: product 2\n';

      test.each<[string, string | Uint8Array, string | RegExp]>([
        ...invalid.map(([problem, content]): [string, string, string] => [
          problem.trim(),
          content,
          `products.json:2: ${problem}`,
        ]),
        ["a repeated field", bad({}).replace('"id":2,', '"id":2,"title":"Other",'), repeated],
        [
          "a repeated field after a very long text",
          bad({}).replace('"id":2,', `"id":2,"other":"${"\\n".repeat(2_000_000)}","title":"Other",`),
          repeated,
        ],
        [
          "a repeated field of a part, in a wrapper",
          `{"products":[${bad({}).replaceAll("\n", ",\n").replace('"sku":"SKU-2"', '"s\\u006bu":"A","sku":"B"')}]}`,
          repeated.replace("title", "sku"),
        ],
        ["text instead of a document", `${toJson(one)}\n"text"\n`, ':2: expected object: got "text"'],
        ["no JSON", `${toJson(one)}\nnonsense\n`, ":2: not JSON"],
        ["a broken document between right ones", `${toJson(one)}\n{"id": }\n${toJson(two)}`, ":2: not JSON"],
        ["a bracket too many", `${toJson(one)}}\n${toJson(two)}`, ":1: not JSON"],
        [
          "a file cut short",
          JSON.stringify([one, two], null, 1).slice(0, -400),
          /the file ends inside the document.*copy it or export it again/,
        ],
        ["a list cut short", `[${toJson(one)},${toJson(two)}`, "the file ends before the array is closed"],
        [
          "a bad page among wrapped ones",
          JSON.stringify({ products: [one, without("vendor")] }, null, 1),
          /:\d+: vendor: is/,
        ],
        ["an empty file", "", /products\.json:1: the file is empty; export it again, or write \[\]/],
        ["a file of blank lines", " \n\r\n", /products\.json:1: the file is empty/],
        [
          "more variants than a product can have",
          bad({ variants: Array.from({ length: 100_000 }, () => ({})) }),
          /:2: variants: expected at most 5000 entries: product 2, got a list/,
        ],
        [
          "more metafields than a variant can have",
          badVariant({ metafields: Array.from({ length: 100_000 }, () => ({})) }),
          /:2: variants\[\]\.metafields: expected at most 5000 entries: product 2, variants\[1\], got a list/,
        ],
        [
          "more identifiers than an image can have",
          bad({ images: [{ ...image, variant_ids: Array.from({ length: 500_000 }, () => "a") }] }),
          /:2: images\[\]\.variant_ids: expected at most 5000 entries: product 2, images\[0\], got a list/,
        ],
        [
          "more values than an option can have",
          bad({ options: [{ values: Array.from({ length: 500_000 }, () => 5) }] }),
          /:2: options\[\]\.values: expected at most 5000 entries: product 2, options\[0\], got a list/,
        ],
        [
          "more parts in all than a product can have",
          bad({
            variants: Array.from({ length: 2000 }, () => ({ metafields: Array.from({ length: 100 }, () => ({})) })),
          }),
          /:2: expected at most 100000 parts in all, such as variants and metafields: product 2/,
        ],
        [
          "a value that is nested 200,000 levels deep",
          `${toJson(one)}\n{"id": 2, "metafields": [{"value": ${"[".repeat(200_000)}${"]".repeat(200_000)}}]}`,
          /products\.json:2: document nested more than 200 levels deep/,
        ],
        ...["\u200b \ufeff", "\u2800", "\u3164", "\u115f\u1160", "\ufe0f", "\u034f", "\ud83d"].map(
          (title): [string, string, RegExp] => [
            `the title ${JSON.stringify(title)}, which shows nothing`,
            bad({ title }),
            /:2: title: expected text: product 2, got "/,
          ],
        ),
        [
          "two lists of products in a wrapper",
          `{"products": [${toJson(one)}],\n"products": [${toJson(two)}]}`,
          /products\.json:1: has the field "products" more than once/,
        ],
        [
          "a list of products in a wrapper, and then none",
          `{"products": [${toJson(one)}],\n"products": null}`,
          /products\.json:1: has the field "products" more than once/,
        ],
        ["a nested list", `[[${toJson(one)}]]`, /:1: expected object: got a list/],
        ["text that is not UTF-8", Buffer.from(`${toJson(one)}\n`, "utf16le"), /not JSON|not a text file/],
        ["bytes that are no text", new Uint8Array([0x7b, 0xff, 0xfe, 0x00, 0x7d]), "invalid UTF-8"],
      ])("names %s and changes nothing", async (_, content, message) => {
        const { code, stderr, stdout } = await importing(content);
        expect(code).toBe(1);
        expect(stderr).toMatch(message);
        expect(stderr).toMatch(/changed|UTF-8|not a text file|levels deep/);
        expect(stdout).toBe("");
        expect(await answer(41)).toBe(stored(toProduct(41)));
        expect(await answer(1)).toContain('"product":null');
      });
    });

    describe("of another form", () => {
      beforeAll(() => importing(toJson(toProduct(41))));

      /** As a public storefront shows a product at /products.json, or at /products/HANDLE.json. */
      const shown = (id: number) => {
        const { title, handle, body_html, published_at, created_at, updated_at, vendor, product_type } = toProduct(id);
        const { sku, option1, option2, option3, price, grams, position, taxable, requires_shipping } = toVariant(id);
        const variant = { title: option1, option1, option2, option3, sku, requires_shipping, taxable };
        return {
          ...{ id, title, handle, body_html, published_at, created_at, updated_at, vendor, product_type },
          tags: ["blue"],
          variants: [{ id: 401, ...variant, available: true, price, grams, position, product_id: id }],
          images: [],
          options: [{ name: "Title", position: 1, values: ["Default Title"] }],
        };
      };
      const header = "Handle,Title,Body (HTML),Vendor\nplate,Plate,<p>A plate.</p>,Maker\n";
      const page = "<!DOCTYPE html>\n<html><body>502 Bad Gateway, try again</body></html>\n";

      test.each([
        [
          "a storefront's products",
          toJson({ products: [1, 2, 3].map(shown) }),
          /storefront's .*lacks status.*REST Admin/,
        ],
        ["a storefront's product", toJson({ product: shown(1) }), /storefront's .*lacks status.*REST Admin/],
        [
          "a storefront's product beside a list",
          toJson({ product: shown(1), products: [toProduct(2)] }),
          /storefront's .*lacks status.*REST Admin/,
        ],
        ["CSV", header, /:1: not JSON but CSV, which lacks the IDs.*REST Admin/],
        ["CSV with a byte order mark", `\uFEFF${header}`, /:1: not JSON but CSV/],
        ["CSV with quotes and semicolons", '\n"Handle";"Title";"Vendor"\n', /:1: not JSON but CSV/],
        ["a web page", page, /:1: not JSON but a web page.*export the products again/],
        ["plain text", "Service unavailable, try again\n", /:1: not JSON: .*got "Service unavailable, try again"/],
        [
          "a bulk export",
          '{"id":"gid://shopify/Product/1"}\n{"id":"gid://shopify/Product/2"}\n',
          /GraphQL .*REST Admin/,
        ],
        ["a response of GraphQL", '{"data":{"products":{"nodes":[]}}}', /GraphQL .*REST Admin/],
        ["other data", '{"orders":[{"id":1}]}', /:1: holds no product: .*"products".*got orders; export the products/],
        ["no data", "{}", /:1: holds no product: .*got no fields/],
        ["a list of nothing", '{"products":null}', /:1: holds no product: .*got products/],
        ["an error response", '{"errors":"Not Found"}', /:1: an error response .*Not Found.*export the products again/],
      ])("refuses %s in one sentence, which says what to do", async (_, content, message) => {
        const { code, stderr } = await importing(content);
        expect(code).toBe(1);
        expect(stderr).toMatch(message);
        expect(stderr).toMatch(/^pds: catalog-import: .*products\.json:1: .*; nothing was changed\n$/);
        expect(await answer(41)).toBe(stored(toProduct(41)));
      });
    });

    test("reports rejections by reason, with the first examples", async () => {
      const { code, stderr, stdout } = await importing('{"id":1}\n'.repeat(500), "--json");
      expect(code).toBe(1);
      expect(stderr).toContain("500 of 500 were rejected, so nothing was changed");
      const report = JSON.parse(stdout);
      expect(report).toMatchObject({ job: "catalog-import", outcome: "failed", accepted: 0, rejected: 500 });
      const [{ examples, ...first }] = report.rejections;
      expect(first).toEqual({ field: "title", reason: "is missing", rows: 500 });
      expect(examples.map(({ line }: { line: number }) => line)).toEqual([1, 2, 3, 4, 5]);
      expect(stderr).toContain(":5: title: is missing: product 1\n495 more: title: is missing\n");
    });

    test("folds the same mistake in many products and variants, and names the first places", async () => {
      const products = Array.from({ length: 50 }, (_, index) => {
        const variant = { ...toVariant(index + 1), price: `${index}.999`, inventory_quantity: undefined };
        return { ...toProduct(index + 1), variants: [...Array(index).fill(toVariant(index + 1)), variant, variant] };
      });
      const { stdout, stderr } = await importing(toJson(products), "--json");
      const price = 'variants[].price: expected decimal text with at most two places, such as "49.95"';
      expect(JSON.parse(stdout)).toMatchObject({ rejected: 50, rejections: [{ rows: 50 }, { rows: 50 }] });
      const lines = stderr.split("\n").map((line) => line.slice(line.indexOf("products.json")));
      expect(stderr.trimEnd().split("\n")).toHaveLength(13);
      expect(lines[1]).toBe(`products.json:1: ${price}: product 2, variants[1], got "1.999", and at 1 more place`);
      expect(stderr).toContain(`\n45 more: ${price}\n`);
      expect(stderr).toContain(
        "products.json:1: variants[].inventory_quantity: is missing: product 5, variants[4], and",
      );
      expect(stderr).toContain("\n45 more: variants[].inventory_quantity: is missing\n");
    });

    test("reports where an unterminated document begins, and changes nothing", async () => {
      await importing(toJson(toProduct(41)));
      const { code, stderr } = await importing(`\n{"title":"${"x".repeat(65 * 1024 * 1024)}`);
      expect(code).toBe(1);
      expect(stderr).toMatch(/products\.json:2: document longer than 67108864 characters/);
      expect(await answer(41)).toBe(stored(toProduct(41)));
    });

    test("of a missing file by a job fails with its name", async () => {
      const [PDS_CONFIG = ""] = await writeFiles(folder, {
        "missing.toml": `[jobs.catalog-import]\nsource = ["${join(folder, "nowhere.json")}"]\n`,
      });
      const { code, stderr } = await pds(["run", "catalog-import"], { ...environment, PDS_CONFIG });
      expect(code).toBe(1);
      expect(stderr).toContain("nowhere.json: no such file");
    });
  });
}
