import type { StoredProduct } from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import { type ProductAnswer, parseProductId } from "../product.ts";
import { toProblem } from "./errors.ts";
import { type FailureAnswer, type Handler, parameter } from "./server.ts";

export type FindProduct = (id: bigint) => Promise<StoredProduct | undefined>;

/** `GET /api/v1/products/:id`: the stored document within `{product, shop, error}`. */
export function getProduct(findProduct: FindProduct, shop: string): Handler {
  const rest = `,"shop":${JSON.stringify(shop)},"error":null}`;
  return async (request) => {
    const id = parseProductId(parameter(request, "id"));
    if (id === undefined) throw new ServiceError("invalid_id", "expected String to be a id");
    const product = await findProduct(id);
    if (product === undefined) throw new ServiceError("not_found", "Not Found");
    return { status: 200, type: "application/json", body: `{"product":${product.document}${rest}` };
  };
}

/** A failed look-up keeps the envelope; its message ends with the request reference. */
export function productFailure(shop: string): FailureAnswer {
  return (failure, requestId, request) => {
    if (failure.code === "bad_request") return toProblem(failure, requestId);
    const id = parameter(request, "id").slice(0, 100);
    const answer: ProductAnswer = {
      product: null,
      shop,
      error:
        `The product with id ${id} could not be found: ${failure.detail.replace(/\.$/, "")}. ` +
        `If you report this error, please include this id: ${requestId}`,
    };
    return { status: failure.status, type: "application/json", body: JSON.stringify(answer), headers: failure.headers };
  };
}
