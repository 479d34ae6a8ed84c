import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { dig, productGid, queryProduct, sendQuery } from "./client.ts";
import { productById } from "./documents.ts";

const platform = startStandIn({
  products: 20,
  bucket: { maximumAvailable: 1_000_000 },
  apps: [
    { name: "narrow", token: "shpat_stand-in" },
    { name: "wide", token: "wide", scopes: ["read_products", "read_publications"] },
    { name: "blind", token: "blind", scopes: [] },
  ],
});
afterAll(() => platform.stop());
const id = productGid(platform.catalog.idAt(0));
const invalidToken = "[API] Invalid API key or access token (unrecognized login or wrong password)";

describe("a response", () => {
  test("has a request id and its API version", async () => {
    const { headers } = await queryProduct(platform, platform.catalog.idAt(0));
    expect(headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}-\d+$/);
    expect(headers.get("X-Shopify-API-Version")).toBe("2026-10");
  });

  test("to an outdated version comes from the oldest supported one", async () => {
    const { headers, data } = await sendQuery(platform, "{ shop { name } }", {}, { version: "2024-01" });
    expect(headers.get("X-Shopify-API-Version")).toBe("2026-01");
    expect(data).toBeDefined();
  });

  test("to an unknown version is 404", async () => {
    const { status } = await sendQuery(platform, "{ shop { name } }", {}, { version: "2026-11" });
    expect(status).toBe(404);
  });

  test("to an unknown product is null without errors", async () => {
    const { data, errors } = await queryProduct(platform, "1");
    expect(dig(data, "product")).toBeNull();
    expect(errors).toBeUndefined();
  });

  test("to a malformed id is INVALID_VARIABLE and no data", async () => {
    for (const wrong of ["abc", "gid://shopify/Product/abc", "7", "gid://shopify/Product/"]) {
      const { status, data, errors } = await sendQuery(platform, productById, { id: wrong });
      expect(status).toBe(200);
      expect(data).toBeUndefined();
      expect(dig(errors, "0.extensions")).toEqual({
        code: "INVALID_VARIABLE",
        value: wrong,
        problems: [{ path: [], explanation: `Invalid global id '${wrong}'` }],
      });
    }
  });

  test("to a missing variable is INVALID_VARIABLE", async () => {
    const { errors } = await sendQuery(platform, productById);
    expect(dig(errors, "0.extensions.code")).toBe("INVALID_VARIABLE");
    expect(dig(errors, "0.extensions.problems.0.explanation")).toBe("Expected value to not be null");
  });

  test("to the id of another kind is an error at the field", async () => {
    const { data, errors } = await sendQuery(platform, productById, { id: id.replace("Product", "ProductVariant") });
    expect(dig(data, "product")).toBeNull();
    expect(dig(errors, "0.extensions.code")).toBe("RESOURCE_NOT_FOUND");
  });

  test("to a field that the schema does not have is an error and no data", async () => {
    const { status, data, errors } = await sendQuery(platform, "{ shop { colour } }");
    expect(status).toBe(200);
    expect(data).toBeUndefined();
    expect(dig(errors, "0.extensions.code")).toBe("undefinedField");
  });

  test("to invalid GraphQL or JSON says so", async () => {
    expect(dig((await sendQuery(platform, "{ shop {")).errors, "0.extensions.code")).toBe("parseError");
    const headers = { "X-Shopify-Access-Token": "shpat_stand-in" };
    const broken = await fetch(platform.graphqlUrl(), { method: "POST", headers, body: "{" });
    expect(broken.status).toBe(400);
  });

  test("to a wrong token is 401 with the platform's message", async () => {
    const { status, errors } = await sendQuery(platform, "{ shop { name } }", {}, { token: "nonsense" });
    expect(status).toBe(401);
    expect(errors).toBe(invalidToken);
  });
});

const posPublished = `query ($id: ID!, $pos: ID!) {
  product(id: $id) { id posPublished: publishedOnPublication(publicationId: $pos) }
}`;

describe("a scope that was not granted", () => {
  test("makes the field null and names the required scope", async () => {
    const { status, data, errors } = await sendQuery(platform, posPublished, { id, pos: publication(1) });
    expect(status).toBe(200);
    expect(data).toEqual({ product: null });
    expect(errors).toEqual([
      {
        message: expect.stringContaining("Access denied for publishedOnPublication field."),
        locations: expect.anything(),
        path: ["product", "posPublished"],
        extensions: {
          code: "ACCESS_DENIED",
          documentation: expect.any(String),
          requiredAccess: "`read_publications` access scope.",
        },
      },
    ]);
  });

  test("hides products from an app without scopes", async () => {
    const { data, errors } = await sendQuery(platform, productById, { id }, { token: "blind" });
    expect(dig(data, "product")).toBeNull();
    expect(dig(data, "shop.ianaTimezone")).toBe("America/New_York");
    expect(dig(errors, "0.extensions.requiredAccess")).toBe("`read_products` access scope.");
  });

  test.each([
    ["one publication", posPublished],
    [
      "all publications",
      ofProduct(`resourcePublications(first: 50, onlyPublished: true) {
        nodes { publishDate publication { id } }
      }`),
    ],
  ])("is all that an app needs to read %s", async (_, text) => {
    const { data, errors } = await sendQuery(platform, text, { id, pos: publication(2) }, { token: "wide" });
    expect(errors).toBeUndefined();
    expect(dig(data, "product.id")).toBe(id);
  });
});

test("a document with an unused fragment is rejected", async () => {
  const { errors } = await sendQuery(platform, "{ shop { name } } fragment Unused on Shop { name }");
  expect(dig(errors, "0.extensions.code")).toBe("useAndDefineFragment");
});

function ofProduct(fields: string): string {
  return `query ($id: ID!) { product(id: $id) { id ${fields} } }`;
}

function publication(number: number): string {
  return `gid://shopify/Publication/18000${number}`;
}
