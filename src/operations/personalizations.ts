import { ServiceError } from "../base/errors.ts";
import { invalidatedLifetime } from "../cache/namespace.ts";
import { toProblem } from "../http/errors.ts";
import { targetOf } from "../http/request.ts";
import type { Operation } from "./operation.ts";
import { productFailure } from "./products.ts";

/** How many SKUs one request may name. */
const maxSkusPerRequest = 50;

/** Longer URLs don't pass all proxies. */
const maxUrlBytes = 8192;

/** The personalization of several SKUs, for product lists. */
export const personalizations: Operation = {
  name: "personalizations",
  noun: "personalization",
  routes: [
    {
      path: "/api/v1/products/pz",
      operationId: "getPersonalizations",
      summary: "Get personalization data for several SKUs",
      description:
        "In the order requested, each SKU once. The parts of a SKU are those of its own operation; three empty " +
        "lists for an unknown SKU. All are as of the same moment.",
      parameters: {
        sku: {
          in: "query",
          description: "A SKU; repeat the parameter for each: `?sku=A&sku=B`. Other parameters are ignored.",
          schema: { type: "array", items: { type: "string", minLength: 1 }, minItems: 1, maxItems: maxSkusPerRequest },
          example: ["TM814935W", "TM814973W"],
        },
      },
      responses: {
        200: { description: "The personalization of each SKU.", schemas: ["Personalizations"] },
        400: {
          description:
            "A SKU is empty, there are too many, the URL is longer than 8 kB, its percent-encoding is malformed, or " +
            "the response would be larger than 16 MB. " +
            "Without the parameter `sku`, the path is that of a product with the invalid identifier `pz`.",
          schemas: ["Problem", "ProductAnswer"],
        },
      },
    },
  ],
  cachePolicy: (settings) => settings.cachePersonalization,
  lifetime: (policy) => invalidatedLifetime(policy),
  parseKey: (request) => JSON.stringify(parseSkus(targetOf(request))),
  tagKeys: (key) => JSON.parse(key) as string[],
  createLoader:
    ({ query, personalization }) =>
    (key, network) =>
      query((database) => personalization.findAll(database, JSON.parse(key) as string[]), network),
  createFailureResponse: (context) => {
    const toProductFailure = productFailure("id", () => "pz", context);
    return (failure, ...request) => (failure.code === "invalid_id" ? toProductFailure : toProblem)(failure, ...request);
  },
};

/**
 * The distinct SKUs in a query.
 * @param target path and query
 * @throws ServiceError `invalid_id` without a parameter `sku`, and `bad_request`
 */
function parseSkus(target: string): string[] {
  const parts = target.slice(target.indexOf("?") + 1).split("&");
  const values = parts.flatMap((part) => {
    const [name = ""] = part.split("=", 1);
    return isSku(name) ? [decode(part.slice(name.length + 1))] : [];
  });
  if (values.length === 0) throw new ServiceError("invalid_id", "expected String to be a id");
  if (target.length > maxUrlBytes) {
    throw new ServiceError("bad_request", `The URL has ${target.length} bytes. Use at most ${maxUrlBytes}.`);
  }
  const skus = [...new Set(values)];
  if (skus.includes("")) throw new ServiceError("bad_request", "A parameter sku is empty.");
  if (skus.length > maxSkusPerRequest) {
    throw new ServiceError("bad_request", `The query has ${skus.length} SKUs. Use at most ${maxSkusPerRequest}.`);
  }
  return skus;
}

/** Whether the name of a parameter is `sku`, also if it is percent-encoded. */
function isSku(name: string): boolean {
  if (!name.includes("%")) return name === "sku";
  try {
    return decodeURIComponent(name) === "sku";
  } catch {
    return false;
  }
}

/** As HTML forms encode a query, in which a plus is a space. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (cause) {
    throw new ServiceError("bad_request", "The query's percent-encoding is malformed.", { cause });
  }
}
