import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { fillStore, importHere } from "../support/import-here.ts";
import { createStore, engines, serve, serveUntilEnd, temporaryFolder } from "../support/pds.ts";
import { untilEqual } from "../support/until.ts";

const reference = /^[\w.:=+/@-]{1,128}$/;

const style = (style_code: string, line_display_seq: string, choice_type: string, instruct_text: string) => ({
  style_code,
  line_status: "A",
  line_display_seq,
  choice_type,
  instruct_text,
});

for (const engine of engines) {
  const environment = {
    DATABASE_URL: await createStore(engine),
    SHOP_DOMAIN: "shop.example",
    BRAND: "acme",
  };
  const importedFromMs = Date.now();
  const products = [
    toProduct(632910392),
    // What looks like a handle within a text, and a handle of two products.
    toProduct(1, { handle: "twice", title: 'a","handle":"plate-632910392","b' }),
    toProduct(2, { handle: "twice", body_html: '","handle":"unknown","' }),
  ];
  await fillStore(environment, products, feedFiles);
  const importedToMs = Date.now();
  const service = await serveUntilEnd(environment);
  const get = service.get;

  describe(`on ${engine}, personalization`, () => {
    test("sorts lines, styles, and choices in display order, numbers first", async () => {
      const response = await get("/api/v1/products/pz/MUG");
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.text()).toBe(
        JSON.stringify({
          pzlines: [
            { sku_id: "MUG", style_code: "BLOCK", style_display_seq: "9", style_sku_status: "I" },
            { sku_id: "MUG", style_code: "SCRIPT", style_display_seq: "10", style_sku_status: "A" },
          ],
          pzstyles: [
            style("BLOCK", "1", "FONT", "Choose a font"),
            style("SCRIPT", "1", "FONT", "Choose a font"),
            style("SCRIPT", "2", "MOTIF", 'Pick one, or "none"'),
          ],
          pzchoices: [
            { choice_type: "FONT", choice_status: "H", choice_display_seq: "1", choice_value: "Sans" },
            { choice_type: "FONT", choice_status: "A", choice_display_seq: "2", choice_value: "Serif" },
            { choice_type: "FONT", choice_status: "A", choice_display_seq: "x", choice_value: "Other" },
            { choice_type: "MOTIF", choice_status: "A", choice_display_seq: "1", choice_value: "Heart" },
          ],
        }),
      );
    });

    test.each([
      ["slash, space, accent and plus", `/${encodeURIComponent("A/B é+")}`],
      ["a plus left as it is", "/A%2FB%20%C3%A9+"],
      ["lower-case escapes", "/A%2fB%20%c3%a9%2b"],
      ["a query, which is ignored", "/A%2FB%20%C3%A9%2B?sku=MUG&x=%zz"],
    ])("matches a SKU exactly after decoding: %s", async (_, path) => {
      const { pzlines } = (await (await get(`/api/v1/products/pz${path}`)).json()) as { pzlines: unknown[] };
      expect(pzlines).toEqual([
        { sku_id: "A/B é+", style_code: "NOTE", style_display_seq: "010", style_sku_status: "A" },
      ]);
    });

    test.each([
      ["unknown", "NOPE"],
      ["in another case", "mug"],
      ["with a space behind it", "MUG%20"],
      ["decomposed where the stored one is composed", "A%2FB%20e%CC%81%2B"],
      ["of 256 characters", "x".repeat(256)],
      ["of 8,000 characters", "x".repeat(8000)],
      ["with a NUL", "MUG%00"],
      ["of SQL", "'%20OR%201=1--"],
      ["a replacement character", "%EF%BF%BD"],
      ["many replacement characters", "%EF%BF%BD".repeat(100)],
    ])("returns three empty lists for a SKU %s", async (_, sku) => {
      const response = await get(`/api/v1/products/pz/${sku}`);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe('{"pzlines":[],"pzstyles":[],"pzchoices":[]}');
    });
  });

  describe(`on ${engine}, personalization of several SKUs`, () => {
    const bodyOf = async (path: string) => await (await get(`/api/v1/products/pz${path}`)).text();

    test.each([
      ["one", "?sku=MUG", ["MUG"]],
      ["in the order requested", "?sku=NOPE&sku=MUG&sku=A%2FB%20%C3%A9%2B", ["NOPE", "MUG", "A/B é+"]],
      ["duplicates once", "?sku=MUG&sku=NOPE&sku=MUG&sku=%4d%55G", ["MUG", "NOPE"]],
      ["a plus as a space, and other parameters ignored", "?x=%zz&sku=a+b&skus=1&sku=MUG&", ["a b", "MUG"]],
      ["names that no SKU can have", `?sku=MUG%00&sku=${"x".repeat(300)}&sku=[%22MUG%22]`, undefined],
      ["encoded names of the parameter", "?%73ku=MUG&s%6Bu=NOPE&%zz=1&sku%=1", ["MUG", "NOPE"]],
      ["fifty", `?${Array.from({ length: 50 }, (_, index) => `sku=S${index}`).join("&")}`, undefined],
    ])("returns those of each: %s", async (_, query, skus) => {
      const asked = skus ?? [...new URLSearchParams(query)].map(([, sku]) => sku);
      const expected = await Promise.all(asked.map((sku) => bodyOf(`/${encodeURIComponent(sku)}`)));
      const parts = asked.map((sku, index) => `{"sku":${JSON.stringify(sku)},${expected[index]?.slice(1)}`);
      for (let time = 0; time < 2; time++) expect(await bodyOf(query)).toBe(`{"personalizations":[${parts.join()}]}`);
    });

    test("has an entity tag that depends on the SKUs and their order", async () => {
      const queries = ["?sku=MUG&sku=X", "?sku=X&sku=MUG", "?sku=MUG&sku=Y", "?sku=X", "?sku=Y", "?sku=MUG"];
      const tags = await Promise.all(queries.map(async (query) => (await get(`/api/v1/products/pz${query}`)).headers));
      expect(new Set(tags.map((headers) => headers.get("etag"))).size).toBe(queries.length);
    });

    test.each([
      ["an empty SKU", "?sku=MUG&sku=", "A parameter sku is empty."],
      ["only an empty SKU", "?sku", "A parameter sku is empty."],
      ["51 SKUs", `?${"sku=".repeat(51).replaceAll("sku=", (_, at) => `&sku=${at}`)}`, "51 SKUs. Use at most 50."],
      ["a URL over 8 kB", `?sku=A&x=${"x".repeat(8200)}`, "Use at most 8192."],
      ["malformed percent-encoding", "?sku=%zz", "percent-encoding is malformed"],
      ["bytes that are not UTF-8", "?sku=%ff", "percent-encoding is malformed"],
    ])("rejects %s with a problem", async (_, query, detail) => {
      const response = await get(`/api/v1/products/pz${query}`);
      expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/problem+json"]);
      expect(((await response.json()) as { detail: string }).detail).toContain(detail);
    });

    test.each(["", "?", "?x=1", "?SKU=MUG", "?skus=MUG"])(
      "is the product operation without a SKU: pz%s",
      async (query) => {
        const response = await get(`/api/v1/products/pz${query}`);
        expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/json"]);
        const requestId = response.headers.get("x-request-id");
        const error =
          "The product with id pz could not be found: expected String to be a id. " +
          `If you report this error, please include this id: ${requestId}`;
        expect(await response.text()).toBe(JSON.stringify({ product: null, shop: "shop.example", error }));
      },
    );
  });

  describe(`on ${engine}, product by handle`, () => {
    test("is the response of its id", async () => {
      const [byId, byHandle] = await Promise.all([
        get("/api/v1/products/632910392"),
        get("/api/v1/products/handle/plate-632910392"),
      ]);
      expect([byHandle.status, await byHandle.text()]).toEqual([200, await byId.text()]);
      const comparable = ({ headers }: Response) =>
        [...headers].filter(([name]) => name !== "date" && name !== "x-request-id").toSorted();
      expect(comparable(byHandle)).toEqual(comparable(byId));
    });

    test("of several products, as of different times, is that of the one that changed last", async () => {
      const bodyOf = async (path: string) => await (await get(`/api/v1/products/${path}`)).text();
      expect(await bodyOf("handle/twice")).toBe(await bodyOf("2"));
    });

    test.each([
      "unknown",
      "PLATE-632910392",
      "plate-632910392%20",
      "twice%22",
      "%25",
      "ø",
      "%EF%BF%BD",
      "x".repeat(255),
      "%F0%9F%98%80".repeat(255),
      // Its quoted beginning ends within a character.
      `x${"%F0%9F%98%80".repeat(60)}`,
    ])("responds with 404 to the handle %s", async (handle) => {
      const response = await get(`/api/v1/products/handle/${handle}`);
      expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json"]);
      const { product, shop, error } = (await response.json()) as Record<string, string | null>;
      expect([product, shop]).toEqual([null, "shop.example"]);
      const quoted = decodeURIComponent(handle).slice(0, 100).toWellFormed();
      expect(error).toStartWith(`The product with handle ${quoted} could not be`);
      expect(error).toEndWith(` ${response.headers.get("x-request-id")}`);
    });

    test.each(["a%00b", "a%0Ab", "x".repeat(256), "%F0%9F%98%80".repeat(256)])(
      "rejects the handle %s with 400",
      async (handle) => {
        const response = await get(`/api/v1/products/handle/${handle}`);
        expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/json"]);
        expect(((await response.json()) as { error: string }).error).toContain("expected a handle of at most 255");
      },
    );
  });

  describe(`on ${engine}, product`, () => {
    test("returns the product in its envelope, with fields in the contract's order", async () => {
      const response = await get("/api/v1/products/632910392");
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(toJson({ product: toProduct(632910392), shop: "shop.example", error: null }));
    });

    test.each([
      ["text", ["abc", "pz", "handle", "form", "gid:%2F%2Fshopify%2FProduct%2F632910392"]],
      ["a number that is not written as an id", ["0", "-1", "+1", "1.0", "007", "1e3", "%D9%A1"]],
      ["an id with something around it", ["%20632910392", "632910392%00"]],
      ["a number beyond 64 bits", ["9223372036854775808", "99999999999999999999999999"]],
    ])("rejects %s with 400 and the expected type", async (_, ids) => {
      for (const id of ids) await expectFailure(id, 400, /could not be found.*expected String to be a id/s);
    });

    test.each(["3", "632910393", "9223372036854775807"])("responds with 404 for the unknown id %s", (id) =>
      expectFailure(id, 404, new RegExp(`product with id ${id} could not be found`, "i")),
    );

    async function expectFailure(id: string, status: number, message: RegExp) {
      const response = await get(`/api/v1/products/${id}`);
      expect([id, response.status]).toEqual([id, status]);
      const requestId = response.headers.get("x-request-id") ?? "";
      const answer = (await response.json()) as { product: null; shop: string; error: string };
      expect(Object.keys(answer)).toEqual(["product", "shop", "error"]);
      expect(answer.product).toBeNull();
      expect(answer.shop).toBe("shop.example");
      expect(answer.error).toMatch(message);
      expect(requestId).toMatch(reference);
      expect(answer.error.endsWith(requestId)).toBeTrue();
    }
  });

  describe(`on ${engine}, histories`, () => {
    const counts = async (path: string) => {
      const { histories } = (await (await get(path)).json()) as { histories: { counts: number }[] };
      return histories.map((record) => record.counts);
    };

    test("record each import, newest first by default", async () => {
      expect(await counts("/api/v1/histories")).toEqual([12, 3]);
      expect(await counts("/api/v1/histories/desc")).toEqual([12, 3]);
      expect(await counts("/api/v1/histories/asc")).toEqual([3, 12]);
      const { histories } = (await (await get("/api/v1/histories")).json()) as { histories: Record<string, string>[] };
      for (const record of histories) {
        expect(Object.keys(record)).toEqual(["brand", "counts", "created_at"]);
        expect(record.brand).toBe("acme");
        expect(record.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        // It is in whole seconds.
        const createdAtMs = Date.parse(record.created_at ?? "");
        expect(createdAtMs).toBeGreaterThan(importedFromMs - 1000);
        expect(createdAtMs).toBeLessThanOrEqual(importedToMs);
      }
    });

    test.each(["ASC", "newest", "asc%20", "asc;"])("reject the order %s", async (order) => {
      const response = await get(`/api/v1/histories/${order}`);
      expect(response.status).toBe(400);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
    });
  });

  describe(`on ${engine}, every route`, () => {
    const known = [
      "/api/v1/products/pz/MUG",
      "/api/v1/products/pz?sku=MUG&sku=NOPE",
      "/api/v1/products/pz",
      "/api/v1/products/632910392",
      "/api/v1/products/handle/plate-632910392",
      "/api/v1/products/handle/x",
      "/api/v1/products/x",
      "/api/v1/histories/asc",
    ];

    test.each(known)("responds to HEAD %s like to GET, without the body", async (path) => {
      for (const coding of ["identity", "gzip"]) {
        const headers = { "Accept-Encoding": coding };
        // Not decompressed, so that its length is that of the encoded body.
        const [got, headed] = await Promise.all([
          get(path, { headers, decompress: false }),
          get(path, { method: "HEAD", headers }),
        ]);
        const body = await got.bytes();
        expect(headed.status).toBe(got.status);
        expect(await headed.text()).toBe("");
        const comparable = ({ headers }: Response) =>
          [...headers].filter(([name]) => name !== "date" && name !== "x-request-id").toSorted();
        expect(comparable(headed)).toEqual(comparable(got));
        // A failed product's message contains the request reference, which has a fixed length.
        expect(headed.headers.get("content-length")).toBe(`${body.length}`);
        expect(headed.headers.get("date")).not.toBeNull();
      }
    });

    test.each(["POST", "PUT", "DELETE", "PATCH"])(
      "rejects %s with 405 and lists the allowed methods",
      async (method) => {
        for (const path of [...known, "/openapi.json", "/livez"]) {
          const response = await get(path, { method });
          expect(response.status).toBe(405);
          expect(response.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
          await expectProblem(response);
        }
      },
    );

    test.each([
      ["a path that ends too soon", 404, ["products", "products/", "products/pz/", "products/handle/", "histories/"]],
      ["a path that goes on", 404, ["products/pz/A/B", "products/handle/a/b", "products/1/", "histories/asc/"]],
      ["another path", 404, ["/API/V1/histories", "/api/v2/histories"]],
      ["malformed escapes", 400, ["products/%", "products/%4", "products/%zz", "products/handle/%zz", "histories/%zz"]],
      [
        "bytes that are not UTF-8",
        400,
        ["pz/%E0%A4%A", "pz/%FF", "pz/%C0%AF", "pz/%ED%A0%80"].map((path) => `products/${path}`),
      ],
    ])("responds to %s with a problem of status %i", async (_, status, paths) => {
      for (const path of paths) {
        const response = await fetch(new URL(path, `${service.url}/api/v1/`));
        expect([path, response.status]).toEqual([path, status]);
        await expectProblem(response);
      }
    });

    async function expectProblem(response: Response) {
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      const problem = (await response.json()) as Record<string, unknown>;
      expect(problem.status).toBe(response.status);
      expect(problem.title).toBeString();
      expect(problem.request_id).toBe(response.headers.get("x-request-id"));
      expect(JSON.stringify(problem)).not.toMatch(/SELECT|\.ts|node_modules|\/tmp|at \w+ \(/);
    }

    test("has probes that report readiness and every check", async () => {
      for (const base of [service.url, service.adminUrl]) {
        expect((await fetch(`${base}/livez`)).status).toBe(200);
        const readiness = async () => {
          const response = await fetch(`${base}/readyz`);
          return [response.status, await response.json()] as [number, unknown];
        };
        const names = ["service", "database", "writes", "data", "jobs", "clock", "scheduler"];
        const checks = Object.fromEntries(names.map((name) => [name, "ok"]));
        await untilEqual(readiness, [200, { status: "ready", checks }]);
      }
    });
  });

  test(`on ${engine}, histories contain the ten newest runs in the requested order`, async () => {
    const url = { ...environment, DATABASE_URL: await createStore(engine) };
    await using other = await serve(url);
    expect(await (await other.get("/api/v1/histories/asc")).text()).toBe('{"histories":[]}');
    const file = join(await temporaryFolder(), "many.ndjson");
    for (let size = 1; size <= 12; size++) {
      const lines = Array.from({ length: size }, (_, index) => toJson(toProduct(index + 1)));
      await Bun.write(file, size === 6 ? "broken" : lines.join("\n"));
      await importHere(["import", "products", file, "--brand", `brand ${size}`], url);
    }
    const read = async (order: string) => {
      const { histories } = (await (await other.get(`/api/v1/histories/${order}`)).json()) as {
        histories: { brand: string; counts: number }[];
      };
      return histories.map(({ brand, counts }) => [brand, counts]);
    };
    const expected = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((size) => [`brand ${size}`, size === 6 ? 0 : size]);
    await untilEqual(() => read("asc"), expected);
    expect(await read("desc")).toEqual(expected.toReversed());
  });
}
