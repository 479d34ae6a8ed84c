import { Content, hashTag } from "../../cache/response.ts";
import { type CacheNamespace, lifetimeOf, type ResponseCache } from "../../cache/response-cache.ts";
import type { FoundProduct } from "../../database/product.ts";
import { ServiceError } from "../../errors.ts";
import { type FailureAnswer, type Handler, operationTemplate, purgeTags } from "../../http/endpoint.ts";
import { toProblem } from "../../http/errors.ts";
import { parameter } from "../../http/request.ts";
import type { CachePolicy } from "../../model/cache-policy.ts";
import { type ProductAnswer, parseProductId } from "../../model/product.ts";

export type FindProduct = (id: bigint) => Promise<FoundProduct | undefined>;

export interface ProductSource {
  readonly find: FindProduct;
  readonly shop: string;
  /** After so many seconds it wants to be asked again, even when nothing is known to have changed. */
  readonly maxAgeS: number;
  readonly policy: CachePolicy;
}

/** `GET /api/v1/products/:id`: the stored document within `{product, shop, error}`. */
export function getProduct(memory: ResponseCache, { find, shop, maxAgeS, policy }: ProductSource): Handler {
  const rest = `,"shop":${JSON.stringify(shop)},"error":null}`;
  const [opening, closing] = [encode('{"product":'), encode(rest)];
  const envelope = hashTag(rest);
  const template = operationTemplate(policy);
  const kind: CacheNamespace = {
    name: "product",
    ...lifetimeOf(policy, maxAgeS),
    find: async (id) => {
      const product = await find(BigInt(id));
      if (product === undefined) return { content: undefined, isEmpty: true };
      const content = new Content({
        template,
        body: concatenated(opening, product.document, closing),
        tag: `${product.tag}.${envelope}`,
        purgeTags: purgeTags("product", id),
      });
      return { content, isEmpty: false };
    },
  };
  return (request, _, nowMs) => {
    const id = parameter(request, "id");
    if (parseProductId(id) === undefined) throw new ServiceError("invalid_id", "expected String to be a id");
    return memory.answer(kind, id, nowMs);
  };
}

const encode = (text: string) => new TextEncoder().encode(text);

function concatenated(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
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
    return { status: failure.status, type: "application/json", body: JSON.stringify(answer) };
  };
}
