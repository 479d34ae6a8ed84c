import { ServiceError } from "../base/errors.ts";
import { isLonger } from "../base/format.ts";
import { parameter } from "../http/request.ts";
import type { Operation } from "./operation.ts";
import { productFailure, products } from "./products.ts";

/** Longer handles are not found. */
const maxHandleLength = 255;

const keyPrefix = "handle:";

/** Finds a product by its handle, and returns the product operation's response. */
export const productsByHandle: Operation = {
  name: "products-by-handle",
  noun: "product",
  routes: [
    {
      path: "/api/v1/products/handle/:handle",
      operationId: "getProductByHandle",
      summary: "Get product details by handle",
      description: "The response is that of the product by its identifier, with the same entity tag.",
      parameters: {
        handle: {
          description: "The handle of the product, as in its URL on the storefront; matched exactly.",
          schema: { type: "string", minLength: 1, maxLength: maxHandleLength },
          example: "olivewood-cheese-board",
        },
      },
      responses: {
        200: { description: "The product; `error` is null.", schemas: ["ProductAnswer"] },
        400: {
          description: "The handle is too long or has control characters, or the percent-encoding is malformed.",
          schemas: ["ProductAnswer", "Problem"],
        },
        404: { description: "No product has the handle; `product` is null.", schemas: ["ProductAnswer"] },
        503: {
          description: "No stored product has the handle, and the source of products is unavailable.",
          schemas: ["ProductAnswer"],
        },
      },
    },
  ],
  cachePolicy: products.cachePolicy,
  lifetime: products.lifetime,
  parseKey: (request) => {
    const handle = parameter(request, "handle");
    if (isLonger(handle, maxHandleLength) || /\p{Cc}/u.test(handle)) {
      const expected = `expected a handle of at most ${maxHandleLength} characters, without control characters`;
      throw new ServiceError("invalid_id", expected);
    }
    return keyPrefix + handle;
  },
  responsesOf: products,
  createLoader:
    ({ findProductId }) =>
    async (key, network) => {
      const handle = key.slice(keyPrefix.length);
      const id = await findProductId(handle, network);
      return id === undefined ? undefined : { referred: `${id}`, alias: JSON.stringify(handle).slice(1, -1) };
    },
  createFailureResponse: (context) => productFailure("handle", (request) => parameter(request, "handle"), context),
};
