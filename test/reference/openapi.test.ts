import { beforeAll, describe, expect, test } from "bun:test";
import { parseJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { fillStore } from "../support/import-here.ts";
import { problemsOf, resolve, type Schema, type Schemas } from "../support/json-schema.ts";
import { serve, serveUntilEnd, temporaryFolder } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Answer {
  readonly description: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content: Readonly<Record<string, { schema: Schema; examples?: { sample: { $ref: string } } }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { examples: Readonly<Record<string, { value: unknown }>>; schemas: Schemas };
}

/**
 * The spec's tables, and one for several SKUs, field by field in order. A star is behind the type of a field that the
 * spec describes beyond it.
 */
const tables: Readonly<Record<string, string>> = {
  Personalization: `
    pzlines: PersonalizationLine[], pzstyles: PersonalizationStyle[], pzchoices: PersonalizationChoice[]`,
  Personalizations: "personalizations: PersonalizationOfSku[]",
  PersonalizationOfSku: `
    sku: string*, pzlines: PersonalizationLine[], pzstyles: PersonalizationStyle[],
    pzchoices: PersonalizationChoice[]`,
  PersonalizationLine: "sku_id: string*, style_code: string*, style_display_seq: string*, style_sku_status: string*",
  PersonalizationStyle: `
    style_code: string*, line_status: string*, line_display_seq: string*, choice_type: string*,
    instruct_text: string*`,
  PersonalizationChoice: `
    choice_type: string*, choice_status: string*, choice_display_seq: string*, choice_value: string*`,
  Form: "sku_id: string, locale: string*, styles: FormStyle[]*",
  FormStyle: `
    style_code: string*, style_display_seq: string*, style_sku_status: string*, name: string*, help: string*,
    image: string*, lines: FormLine[]`,
  FormLine: `
    line_display_seq: string*, line_status: string*, choice_type: string*, instruct_text: string*,
    name: string*, help: string*, image: string*, limit: integer*, characters: string*, required: boolean*,
    uppercase: boolean*, choices: FormChoice[]*`,
  FormChoice: `
    choice_value: string*, choice_display_seq: string*, choice_status: string*, name: string*, help: string*,
    image: string*`,
  Histories: "histories: HistoryRecord[]*",
  HistoryRecord: "brand: string*, counts: integer*, created_at: string*",
  ProductAnswer: "product: Product or null*, shop: string*, error: string or null*",
  Product: `
    id: integer*, title: string, body_html: string*, handle: string*, created_at: string*, updated_at: string*,
    published_at: string*, product_type: string*, published_scope: string*, status: string*, tags: string*,
    template_suffix: string or null, vendor: string, admin_graphql_api_id: string*, images: Image[],
    image: Image*, options: Option[], variants: Variant[], metafields: Metafield[]*`,
  Image: `
    id: integer, product_id: integer, position: integer, width: integer, height: integer, src: string*,
    created_at: string*, updated_at: string*, variant_ids: integer[]*, alt: string or null,
    admin_graphql_api_id: string*`,
  Option: "id: integer, product_id: integer, position: integer, name: string, values: string[]",
  Variant: `
    id: integer, product_id: integer, inventory_item_id: integer, position: integer, image_id: integer or null,
    barcode: string, sku: string, title: string, price: string*, compare_at_price: string*,
    fulfillment_service: string*, inventory_management: string*, inventory_policy: string*,
    inventory_quantity: integer, old_inventory_quantity: integer, requires_shipping: boolean, taxable: boolean,
    tax_code: string, grams: integer, weight: number, weight_unit: string*, option1: string or null,
    option2: string or null, option3: string or null, created_at: string*, updated_at: string*,
    admin_graphql_api_id: string*, metafields: Metafield[]*`,
  Metafield: `
    id: integer, owner_id: integer*, owner_resource: string*, namespace: string*, key: string*, value: string*,
    type: string*, description: string or null, created_at: string*, updated_at: string*,
    admin_graphql_api_id: string*`,
};

const fieldsOf = (table: string) =>
  [...table.matchAll(/(\w+): ([^,*]+)(\*?)/g)].map(([, field = "", type = "", star]) => ({
    field,
    type,
    isNoted: star === "*",
  }));

/** The platform has nulls here that the spec's samples do not show. They are served unchanged. */
const alsoNull = [
  "Product.published_at",
  "Product.image",
  "Variant.compare_at_price",
  "Variant.inventory_management",
  ...["FormStyle", "FormLine", "FormChoice"].flatMap((name) => [`${name}.help`, `${name}.image`]),
  ...["limit", "characters", "required"].map((field) => `FormLine.${field}`),
];

/** Identifiers exceed the integers that a double can hold. */
const isIdentifier = (field: string) =>
  /(^|_)id$/.test(field) && field !== "admin_graphql_api_id" && field !== "sku_id";

const folder = await temporaryFolder();
const id = 9007199254740993n;
/** Starts a service with data. @returns it, and a function that drops its database */
async function start() {
  const { url, drop } = await createPostgresDatabase();
  const environment = { DATABASE_URL: url, SHOP_DOMAIN: "shop.example" };
  await fillStore(environment, [toProduct(id)], feedFiles);
  // Without stale-if-error, so that histories fail without the store.
  const service = await serveUntilEnd({ ...environment, CACHE_HISTORIES: "max-age=5" });
  return { service, drop };
}

const [{ service }, lost] = [await start(), await start()];
const document = (await (await service.get("/openapi.json")).json()) as Document;
const { schemas } = document.components;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
);

describe("the OpenAPI document", () => {
  test("is OpenAPI 3.1 and has the program's version", async () => {
    const { version } = await Bun.file(new URL("../../package.json", import.meta.url)).json();
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: "Product Data Service", version });
  });

  test("has the operations with GET and unique ids, the history also without an order", () => {
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "get /api/v1/products/pz/{sku}",
      "get /api/v1/histories",
      "get /api/v1/histories/{order}",
      "get /api/v1/products/{id}",
      "get /api/v1/products/pz",
      "get /api/v1/products/form/{locale}/{sku}",
      "get /api/v1/products/handle/{handle}",
    ]);
    expect(operations.flatMap(({ tags }) => tags)).toEqual([...Array(4).fill("Core"), ...Array(3).fill("Additions")]);
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids).not.toContain(undefined);
  });

  test("declares exactly the parameters in the paths, and that of several SKUs", () => {
    for (const { path, operationId, parameters = [] } of operations) {
      const [inQuery, inPath] = [true, false].map((is) => parameters.filter((each) => (each.in === "query") === is));
      expect(inPath?.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(inQuery?.map(({ name }) => name)).toEqual(operationId === "getPersonalizations" ? ["sku"] : []);
      for (const parameter of parameters) expect(parameter.required).toBeTrue();
      for (const parameter of inPath ?? []) expect(parameter.in).toBe("path");
    }
  });

  test("has exactly the schemas that it refers to", () => {
    const reached = new Set<string>();
    const follow = (node: unknown) => {
      for (const ref of JSON.stringify(node).match(/(?<="\$ref":")#\/components\/schemas\/[^"]+/g) ?? []) {
        if (reached.has(ref)) continue;
        reached.add(ref);
        follow(resolve(ref, schemas));
      }
    };
    follow(document.paths);
    expect([...reached].sort()).toEqual(
      Object.keys(schemas)
        .map((name) => `#/components/schemas/${name}`)
        .sort(),
    );
  });

  test("has a sample response of each operation, which its schema allows", () => {
    for (const { responses } of operations) {
      const { schema, examples } = responses[200]?.content["application/json"] ?? {};
      const name = examples?.sample.$ref.split("/").at(-1) ?? "";
      expect(problemsOf(document.components.examples[name]?.value, schema as Schema, schemas)).toEqual([]);
    }
  });

  test("has the spec's objects and the problem document", () => {
    expect(Object.keys(schemas).sort()).toEqual([...Object.keys(tables), "Problem"].sort());
  });
});

describe.each(Object.entries(tables).map(([name, table]) => [name, fieldsOf(table)] as const))(
  "the schema %s",
  (name, table) => {
    const {
      properties = {},
      required,
      additionalProperties,
    } = (schemas[name] ?? {}) as { properties?: Schemas } & Schema;

    test("has exactly the fields of the spec's table in order, all required", () => {
      const fields = table.map(({ field }) => field);
      expect(Object.keys(properties)).toEqual(fields);
      expect(required).toEqual(fields);
      expect(additionalProperties).toBe(false);
    });

    test("has the types of the spec's table", () => {
      const types = table.map(({ field, type }) => [
        field,
        alsoNull.includes(`${name}.${field}`) ? `${type} or null` : type,
      ]);
      expect(Object.entries(properties).map(([field, schema]) => [field, typeOf(schema)])).toEqual(types);
    });

    test("describes every field that the spec describes", () => {
      const silent = table.filter(({ field, isNoted }) => isNoted && !`${properties[field]?.description ?? ""}`.trim());
      expect(silent.map(({ field }) => field)).toEqual([]);
    });

    test("has 64-bit identifiers", () => {
      for (const field of Object.keys(properties).filter(isIdentifier)) {
        const [whole] = ((properties[field]?.anyOf ?? [properties[field]]) as Schema[]).filter(isNotNull);
        expect(whole).toMatchObject({ type: "integer", format: "int64", minimum: 1 });
      }
      if (name === "Image")
        expect(properties.variant_ids).toMatchObject({ items: { type: "integer", format: "int64" } });
    });
  },
);

const isNotNull = ({ type }: Schema) => type !== "null";

function typeOf({ $ref, anyOf, type, items }: Schema): string {
  if (typeof $ref === "string") return $ref.split("/").at(-1) ?? "";
  if (anyOf !== undefined) return (anyOf as Schema[]).map(typeOf).join(" or ");
  return type === "array" ? `${typeOf(items as Schema)}[]` : [type].flat().join(" or ");
}

const requiredHeaders = (headers: Schema) =>
  Object.keys(headers).filter((name) => (headers[name] as { required: boolean }).required);

describe("a response", () => {
  const answers = [
    ["getPersonalization", "/api/v1/products/pz/MUG", 200],
    ["getPersonalization", "/api/v1/products/pz/unknown", 200],
    ["getPersonalization", "/api/v1/products/pz/%zz", 400],
    ["getPersonalizations", "/api/v1/products/pz?sku=MUG&sku=unknown", 200],
    ["getPersonalizations", "/api/v1/products/pz?sku=", 400],
    ["getPersonalizations", "/api/v1/products/pz", 400],
    ["getForm", "/api/v1/products/form/en/MUG", 200],
    ["getForm", "/api/v1/products/form/fr/MUG", 302],
    ["getForm", "/api/v1/products/form/fr_CA/MUG", 400],
    ["getHistories", "/api/v1/histories", 200],
    ["getOrderedHistories", "/api/v1/histories/asc", 200],
    ["getOrderedHistories", "/api/v1/histories/up", 400],
    ["getProduct", `/api/v1/products/${id}`, 200],
    ["getProduct", "/api/v1/products/1", 404],
    ["getProduct", "/api/v1/products/abc", 400],
    ["getProduct", "/api/v1/products/%zz", 400],
    ["getProductByHandle", `/api/v1/products/handle/plate-${id}`, 200],
    ["getProductByHandle", "/api/v1/products/handle/none", 404],
    ["getProductByHandle", "/api/v1/products/handle/%00", 400],
    ["getProductByHandle", "/api/v1/products/handle/%zz", 400],
  ] as const;
  const withoutDatabase = [
    // Keys that are not cached yet: cached responses are still served.
    ["getPersonalization", "/api/v1/products/pz/CUP", 503],
    ["getPersonalizations", "/api/v1/products/pz?sku=CUP", 503],
    ["getForm", "/api/v1/products/form/en/CUP", 503],
    ["getHistories", "/api/v1/histories", 503],
    ["getOrderedHistories", "/api/v1/histories/desc", 503],
    ["getProduct", "/api/v1/products/2", 503],
    ["getProductByHandle", "/api/v1/products/handle/other", 503],
  ] as const;

  const found = answers.filter(([, , status]) => status === 200);

  async function expectDocumented(
    operationId: string,
    path: string,
    status: number,
    { get } = service,
    headers: Record<string, string> = {},
  ) {
    const response = await get(path, { headers, redirect: "manual" });
    expect(response.status).toBe(status);
    const answer = operations.find((operation) => operation.operationId === operationId)?.responses[status];
    if (answer === undefined) throw new Error("the document does not have this response");
    for (const header of requiredHeaders(answer.headers)) expect(response.headers.get(header)).not.toBeNull();
    const text = await response.text();
    if (status === 302 || status === 304) {
      expect(answer.content).toBeUndefined();
      expect(text).toBe("");
      return;
    }
    const schema = answer.content[response.headers.get("content-type") ?? ""]?.schema;
    if (schema === undefined) throw new Error("the document does not have this response");
    expect(problemsOf(parseJson(text), schema, schemas)).toEqual([]);
  }

  test.each(answers)("of %s to %s with %i matches the document", (operationId, path, status) =>
    expectDocumented(operationId, path, status),
  );

  test.each(found)("of %s to %s that is not modified matches the document", async (operationId, path) => {
    await expectDocumented(operationId, path, 304, service, { "If-None-Match": "*" });
  });

  test.each(found)("of %s to %s with a failed precondition matches the document", async (operationId, path) => {
    await expectDocumented(operationId, path, 412, service, { "If-Match": '"x"' });
  });

  test("beyond the rate limit matches the document", async () => {
    await using limited = await serve({ DATABASE_URL: `sqlite:${folder}/limited.sqlite`, RATE_LIMIT: "1" });
    await limited.get("/nowhere");
    for (const [operationId, path] of found) await expectDocumented(operationId, path, 429, limited);
  });

  test("does not match with an extra or missing field, a wrong type, or a wrong format", async () => {
    const { product, ...rest } = parseJson(await (await service.get(`/api/v1/products/${id}`)).text()) as Schema;
    const { vendor: _, ...vendorless } = product as Schema;
    const wrong = [
      { product },
      { product, ...rest, extra: 1 },
      { ...rest, product: vendorless },
      { ...rest, product: { ...(product as Schema), id: "1" } },
      { ...rest, product: { ...(product as Schema), id: 0 } },
      { ...rest, product: { ...(product as Schema), created_at: "2026-01-01T00:00:00Z" } },
      { ...rest, product: { ...(product as Schema), images: [null] } },
    ];
    for (const answer of wrong) {
      expect(problemsOf(answer, { $ref: "#/components/schemas/ProductAnswer" }, schemas)).not.toEqual([]);
    }
  });

  describe("without a database", () => {
    const cached = [
      ["getPersonalization", "/api/v1/products/pz/MUG", 200],
      ["getProduct", `/api/v1/products/${id}`, 200],
      ["getProduct", "/api/v1/products/1", 404],
      ["getPersonalizations", "/api/v1/products/pz?sku=MUG&sku=unknown", 200],
      ["getProductByHandle", `/api/v1/products/handle/plate-${id}`, 200],
      ["getProductByHandle", "/api/v1/products/handle/none", 404],
    ] as const;

    beforeAll(async () => {
      for (const [, path] of cached) await lost.service.get(path);
      await lost.drop();
      // The history is cached for a moment.
      await until("the cached history has expired", async () => {
        const paths = ["/api/v1/histories", "/api/v1/histories/desc"];
        const answers = await Promise.all(paths.map((path) => lost.service.get(path)));
        return answers.every(({ status }) => status === 503);
      });
    });
    test.each(cached)("of %s to %s from the cache with %i matches the document", (operationId, path, status) =>
      expectDocumented(operationId, path, status, lost.service),
    );

    test.each(withoutDatabase)("of %s to %s with %i matches the document", (operationId, path, status) =>
      expectDocumented(operationId, path, status, lost.service),
    );
  });

  test("of every operation with every status is tested", () => {
    const others = found.flatMap(([operationId, path]) =>
      [304, 412, 429].map((status) => [operationId, path, status] as const),
    );
    const seen = new Set(
      [...answers, ...withoutDatabase, ...others].map(([operationId, , status]) => `${operationId} ${status}`),
    );
    const unseen = operations
      .flatMap(({ operationId, responses }) => Object.keys(responses).map((status) => `${operationId} ${status}`))
      .filter((answer) => !seen.has(answer));
    expect(unseen).toEqual([]);
  });
});
