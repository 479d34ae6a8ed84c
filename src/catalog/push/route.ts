import type { ConcurrencyLimiter } from "../../base/concurrency-limiter.ts";
import { type ErrorCode, ServiceError } from "../../base/errors.ts";
import { type PreparedResponse, prepareResponse } from "../../cache/response.ts";
import { noStore, type Route } from "../../http/endpoint.ts";
import type { DeliveryReceiver } from "../../platforms/platform.ts";
import type { ProductNews } from "../product.ts";
import type { DeliveryCounter, DeliveryResult } from "./delivery-counter.ts";

export interface WebhookContext {
  readonly receiver: DeliveryReceiver;
  /** Bounds the deliveries that wait for the store, and how long they do. */
  readonly limiter: ConcurrencyLimiter;
  readonly counter: DeliveryCounter;
  /** Settles when a read of the product is queued durably. */
  readonly queueRead: (news: ProductNews, topic: string | undefined) => Promise<void>;
  /** Settles when the removal of the app is noted durably. */
  readonly noteUninstalled: (topic: string | undefined) => Promise<void>;
}

/** A delivery names a product and a time; a whole product may have megabytes. */
const maxBytes = 16 * 1024;

/**
 * Accepts the platform's deliveries. Each is stored before it is confirmed, and worked on later, so
 * that no request writes data that is served.
 */
export function webhookRoute(context: WebhookContext): Route {
  const { receiver, counter } = context;
  return {
    // The platform's few addresses send more than any client.
    isUnlimited: true,
    post: async (request) => {
      const topic = receiver.topicOf(request.headers);
      try {
        counter.count(topic, await receive(request, topic, context));
        return accepted;
      } catch (error) {
        counter.count(topic, resultOf(error));
        throw error;
      }
    },
  };
}

const accepted: PreparedResponse = prepareResponse({ type: "text/plain", body: "", headers: noStore });

async function receive(request: Request, topic: string | undefined, context: WebhookContext): Promise<DeliveryResult> {
  const { receiver, limiter, queueRead, noteUninstalled } = context;
  const delivery = receiver.receive(request.headers, await readBody(request));
  switch (delivery.kind) {
    case "unknown":
      return "ignored";
    case "uninstalled":
      await limiter.run(() => noteUninstalled(topic));
      return "accepted";
    case "product":
      await limiter.run(() => queueRead(delivery, topic));
      return "accepted";
  }
}

async function readBody(request: Request): Promise<Uint8Array> {
  // Without a length, the server reads as much as its own limit allows.
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const body = await request.bytes().catch((cause) => {
    throw new ServiceError("bad_request", "The body is incomplete.", { cause });
  });
  if (body.length > maxBytes) throw tooLarge();
  return body;
}

const tooLarge = () =>
  new ServiceError("too_large", `The body is larger than ${maxBytes} bytes. Subscribe to the id and updated_at only.`);

const results: Partial<Record<ErrorCode, DeliveryResult>> = {
  bad_signature: "forged",
  misdirected: "wrong_shop",
  too_large: "too_large",
  bad_request: "unreadable",
};

const resultOf = (error: unknown): DeliveryResult =>
  (error instanceof ServiceError ? results[error.code] : undefined) ?? "unavailable";
