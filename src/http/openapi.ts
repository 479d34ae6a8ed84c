import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { historiesSchema } from "../history.ts";
import { personalizationSchema } from "../personalization.ts";
import { productAnswerSchema } from "../product.ts";
import { problemSchema } from "./errors.ts";

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** A header field of every such answer, unless it is said otherwise. */
const text = (description: string, required = true) => ({ description, required, schema: { type: "string" } });

const everyAnswer = {
  "X-Request-Id": text("The request reference."),
  "Cache-Control": text("How long it may be kept."),
  "Server-Timing": text("How long it took to make, where the service is set to say so.", false),
  "RateLimit-Policy": text("How often a client may ask, where a limit is set.", false),
  RateLimit: text("How often it still may.", false),
};

const forCaches = { "CDN-Cache-Control": text("How long caches in between may keep it.") };

const validators = {
  ...forCaches,
  ETag: text("Changes with the body. Weak: every coding of the body has the same."),
  Vary: text("The body may be compressed."),
  "Cache-Status": text("Whether it came from memory (RFC 9211)."),
  "Cache-Tag": text("Tags to purge it by, with commas."),
  "Surrogate-Key": text("The same with spaces."),
  Age: text("Seconds for which it is not known whether it is still right.", false),
};

const answer = (description: string, schema: z.ZodType, type = "application/json", headers: object = {}) => ({
  description,
  headers: { ...everyAnswer, ...headers },
  content: { [type]: { schema: reference(schema.meta()?.id ?? "") } },
});

const success = (description: string, schema: z.ZodType) => answer(description, schema, "application/json", validators);

const problem = (description: string, headers: object = {}) =>
  answer(description, problemSchema, "application/problem+json", headers);

const retryAfter = { "Retry-After": { description: "Seconds to wait.", required: true, schema: { type: "integer" } } };

const later = <Answer extends { headers: object }>(of: Answer) => ({
  ...of,
  headers: { ...of.headers, ...retryAfter },
});

/** What every operation may answer. */
const common = {
  304: {
    description: "The entity tag is among those of `If-None-Match`: what the client has is still right.",
    headers: { ...everyAnswer, ...validators },
  },
  429: later(problem("This client has asked too often, where a limit is set.")),
};

const historiesAnswers = {
  200: success("The newest finished runs in the order asked for.", historiesSchema),
  ...common,
  503: later(problem("The data cannot be reached at the moment.")),
};

const paths = {
  "/api/v1/products/pz/{sku}": {
    get: {
      operationId: "getPersonalization",
      summary: "Get personalization data for a SKU",
      description:
        "Lines in display order, the styles in the order of their lines, the choices in the order of their styles. " +
        "Rows of every status are served.",
      parameters: [
        {
          name: "sku",
          in: "path",
          required: true,
          description: "The unique identifier of a product that supports personalization; matched exactly.",
          schema: { type: "string" },
        },
      ],
      responses: {
        200: success("What the SKU offers; three empty lists when it is unknown.", personalizationSchema),
        ...common,
        400: problem("The path's percent-encoding is malformed.", forCaches),
        503: later(problem("The data cannot be reached at the moment.")),
      },
    },
  },
  "/api/v1/histories": {
    get: {
      operationId: "getHistories",
      summary: "Get the most recent job history, newest first",
      responses: historiesAnswers,
    },
  },
  "/api/v1/histories/{order}": {
    get: {
      operationId: "getOrderedHistories",
      summary: "Get the most recent job history",
      description: "The 10 newest finished runs, then put in order. For debugging and monitoring.",
      parameters: [
        {
          name: "order",
          in: "path",
          required: true,
          description: "`asc` (oldest first) or `desc` (newest first).",
          schema: { type: "string", enum: ["asc", "desc"] },
        },
      ],
      responses: { ...historiesAnswers, 400: problem("The order is neither `asc` nor `desc`.", forCaches) },
    },
  },
  "/api/v1/products/{id}": {
    get: {
      operationId: "getProduct",
      summary: "Get product details by product identifier",
      parameters: [
        {
          name: "id",
          in: "path",
          required: true,
          description: "The product identifier of the external storefront platform (digits).",
          schema: { type: "string", pattern: "^[1-9][0-9]*$", maxLength: 19 },
        },
      ],
      responses: {
        200: success("The product; `error` is null.", productAnswerSchema),
        ...common,
        400: {
          description: "Not a valid identifier, or malformed percent-encoding.",
          headers: { ...everyAnswer, ...forCaches },
          content: {
            ...answer("", productAnswerSchema).content,
            ...problem("").content,
          },
        },
        404: answer("No such product; `product` is null.", productAnswerSchema, "application/json", forCaches),
        503: later(answer("The source cannot be reached and nothing is stored.", productAnswerSchema)),
      },
    },
  },
};

/** The contract as OpenAPI 3.1, its schemas made from the ones that the code itself uses. */
export function openApiDocument() {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    target: "draft-2020-12",
    unrepresentable: "any",
    uri: (id) => reference(id).$ref,
  });
  return {
    openapi: "3.1.1",
    info: {
      title: "Product Data Service",
      version: packageJson.version,
      description: packageJson.description,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths,
    components: { schemas: Object.fromEntries(namesByUse(schemas).map((name) => [name, bare(schemas[name] ?? {})])) },
  };
}

/** The schemas' names in the order in which a reader of the operations comes upon them. */
function namesByUse(schemas: Record<string, object>): string[] {
  const names = new Set<string>();
  const visit = (value: object) => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (names.has(name)) continue;
      names.add(name);
      visit(schemas[name] ?? {});
    }
  };
  visit(paths);
  return [...names];
}

/** The document says once which JSON Schema it speaks; the names of its schemas are theirs by place. */
function bare({ $schema: _, $id: __, id: ___, ...schema }: Record<string, unknown>) {
  return schema;
}
