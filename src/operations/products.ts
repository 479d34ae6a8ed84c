import { ServiceError } from "../base/errors.ts";
import { hashTag } from "../base/hash.ts";
import { invalidatedLifetime } from "../cache/namespace.ts";
import type { ProductAnswer } from "../contract/product.ts";
import { parseProductId } from "../contract/product-values.ts";
import type { FailureResponse } from "../http/endpoint.ts";
import { toProblem } from "../http/errors.ts";
import { parameter } from "../http/request.ts";
import type { Operation, OperationContext } from "./operation.ts";

/** The stored product document within `{product, shop, error}`. */
export const products: Operation = {
  name: "product",
  isCore: true,
  routes: [
    {
      path: "/api/v1/products/:id",
      operationId: "getProduct",
      summary: "Get product details by product identifier",
      parameters: {
        id: {
          description: "The product identifier of the external storefront platform (digits).",
          schema: { type: "string", pattern: "^[1-9][0-9]*$", maxLength: 19 },
          example: "6781273997312",
        },
      },
      responses: {
        200: { description: "The product; `error` is null.", schemas: ["ProductAnswer"] },
        400: {
          description: "The identifier is not valid, or the percent-encoding is malformed.",
          schemas: ["ProductAnswer", "Problem"],
        },
        404: { description: "The product does not exist; `product` is null.", schemas: ["ProductAnswer"] },
        503: {
          description: "The product is not stored, and its source is unavailable.",
          schemas: ["ProductAnswer"],
        },
      },
    },
  ],
  cachePolicy: (settings) => settings.cacheProducts,
  lifetime: (policy, settings) => invalidatedLifetime(policy, settings.productMaxAge),
  parseKey: (request) => {
    const id = parameter(request, "id");
    if (parseProductId(id) === undefined) throw new ServiceError("invalid_id", "expected String to be a id");
    return id;
  },
  createLoader: ({ findProduct, settings: { shopDomain } }) => {
    const suffix = `,"shop":${JSON.stringify(shopDomain)},"error":null}`;
    const [before, after] = [encode('{"product":'), encode(suffix)];
    return async (id, network) => {
      const product = await findProduct(BigInt(id), network);
      if (product === undefined) return undefined;
      const { document, tag } = product;
      const body = Bun.concatArrayBuffers([before, document, after], Number.POSITIVE_INFINITY, true);
      return { body, tag: hashTag(`${tag}.${suffix}`), alias: handleOf(document) };
    };
  },
  createFailureResponse: (context) => productFailure("id", (request) => parameter(request, "id"), context),
};

const maxQuotedLength = 100;

/**
 * Creates failure responses in the product's envelope.
 * @param keyName what the message calls the key
 */
export function productFailure(
  keyName: "id" | "handle",
  keyOf: (request: Parameters<FailureResponse>[2]) => string,
  { settings: { shopDomain } }: OperationContext,
): FailureResponse {
  return (failure, requestId, request) => {
    if (failure.code === "bad_request") return toProblem(failure, requestId);
    const key = keyOf(request).slice(0, maxQuotedLength).toWellFormed();
    const answer: ProductAnswer = {
      product: null,
      shop: shopDomain,
      error:
        `The product with ${keyName} ${key} could not be found: ${failure.detail.replace(/\.$/, "")}. ` +
        `If you report this error, please include this id: ${requestId}`,
    };
    return { status: failure.status, type: "application/json", body: JSON.stringify(answer) };
  };
}

const handleKey = ',"handle":"';

/**
 * The handle in a document, as JSON escapes it. Quotation marks inside values are escaped, so the
 * first match is the key.
 */
function handleOf(document: Uint8Array): string {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
  const start = bytes.indexOf(handleKey) + handleKey.length;
  return bytes.toString("utf8", start, bytes.indexOf('"', start));
}

const encode = (text: string) => new TextEncoder().encode(text);
