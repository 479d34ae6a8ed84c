import type { ConcurrencyLimiter } from "../../base/concurrency-limiter.ts";
import { type ErrorCode, ServiceError } from "../../base/errors.ts";
import { type PreparedResponse, prepareResponse } from "../../cache/response.ts";
import { noStore, type Route } from "../../http/endpoint.ts";
import type { DeliveryReceiver } from "../../platforms/platform.ts";
import type { ProductNews } from "../product.ts";
import type { DeliveryCounter, DeliveryResult } from "./delivery-counter.ts";

export interface WebhookContext {
  readonly receiver: DeliveryReceiver;
  /** Limits how many deliveries wait for the store, and for how long. */
  readonly limiter: ConcurrencyLimiter;
  readonly counter: DeliveryCounter;
  readonly queueRead: (news: ProductNews, topic: string | undefined) => Promise<void>;
  readonly noteUninstalled: (topic: string | undefined) => Promise<void>;
}

/** A delivery names a product and a time; a whole product may have megabytes. */
const maxBytes = 16 * 1024;

/**
 * Accepts the platform's deliveries. Each is queued durably before it is confirmed and read later,
 * so no request writes data that is served.
 */
export function webhookRoute(context: WebhookContext): Route {
  const { receiver, counter } = context;
  return {
    // The platform sends more from its few addresses than any client.
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
  // Without a length, the server's own limit applies.
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
