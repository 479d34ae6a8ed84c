import { backoff } from "../../base/time.ts";
import { PlatformError } from "../platform.ts";

export type RequestFailure =
  /** There was no valid response. */
  | { readonly kind: "network"; readonly message: string; readonly isPartial?: boolean }
  /** A response that is larger than any should be. */
  | { readonly kind: "large"; readonly message: string }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterS?: number | undefined }
  /** The cost budget lacks the points that the request needs; they are restored after `waitMs`. */
  | { readonly kind: "throttled"; readonly waitMs: number }
  | { readonly kind: "grant"; readonly status: number }
  /** All codes, the first message, and the refused fields. */
  | {
      readonly kind: "graphql";
      readonly codes: readonly string[];
      readonly message: string;
      readonly refused?: readonly string[];
      /** True if other products may be readable. */
      readonly isPartial?: boolean;
    };

export class ShopifyError extends PlatformError {
  readonly failure: RequestFailure;

  constructor(operation: string, failure: RequestFailure, isGeneral = false) {
    super(`Shopify request ${operation} failed: ${describeFailure(failure)}`, { isGeneral });
    this.failure = failure;
  }
}

interface Attempt {
  /** Counted from 1. */
  readonly number: number;
  readonly elapsedMs: number;
}

const maxAttempts = 10;
const maxElapsedMs = 120_000;
const firstDelayMs = 250;
const maxDelayMs = 20_000;

/**
 * Milliseconds to wait before the next attempt; undefined to give up. Permanent failures are not
 * retried: a query over the cost limit, a missing scope, a rejected token, a frozen or locked shop.
 * @param random from 0 to 1: the backoff, unlike a delay that Shopify asks for, is all jitter
 */
export function retryDelayMs(failure: RequestFailure, attempt: Attempt, random: number): number | undefined {
  if (!mayRetry(failure) || attempt.number >= maxAttempts) return undefined;
  const backoffMs = backoff(attempt.number, firstDelayMs, maxDelayMs) * random;
  const delayMs = requestedDelayMs(failure) + backoffMs;
  return attempt.elapsedMs + delayMs <= maxElapsedMs ? delayMs : undefined;
}

export function mayRetry(failure: RequestFailure): boolean {
  switch (failure.kind) {
    case "network":
      return failure.isPartial !== true;
    case "throttled":
      return true;
    case "grant":
    case "status":
      // 430 is Shopify's own: the request looked like an attack, or too many came at once.
      return failure.status === 429 || failure.status === 430 || failure.status === 408 || failure.status >= 500;
    case "graphql":
      return (
        failure.codes.length > 0 &&
        failure.codes.every((code) => code === "INTERNAL_SERVER_ERROR" || code === "TIMEOUT")
      );
    case "large":
      return false;
  }
}

/** Whether the same request will succeed later, because Shopify only limits the rate. */
export const isBusy = (failure: RequestFailure) =>
  failure.kind === "throttled" || (failure.kind === "status" && (failure.status === 429 || failure.status === 430));

export const isOfProducts = (failure: RequestFailure) => "isPartial" in failure && failure.isPartial === true;

export function isTooLarge(failure: RequestFailure): boolean {
  if (failure.kind === "status") return failure.status === 504;
  if (failure.kind === "large") return true;
  return failure.kind === "graphql" && failure.codes.some((code) => code === "MAX_COST_EXCEEDED" || code === "TIMEOUT");
}

function requestedDelayMs(failure: RequestFailure): number {
  if (failure.kind === "throttled") return failure.waitMs;
  if (failure.kind === "status") return (failure.retryAfterS ?? 0) * 1000;
  return 0;
}

/** For log lines and the reason of a failed run. */
export function describeFailure(failure: RequestFailure): string {
  switch (failure.kind) {
    case "network":
    case "large":
      return failure.message;
    case "throttled":
      return "throttled";
    case "grant":
      return `no access token granted (status ${failure.status}); check SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET`;
    case "status":
      return `status ${failure.status}${hints[failure.status] ?? ""}`;
    case "graphql":
      return `${[...new Set(failure.codes)].join(", ")}: ${failure.message}${explainRefusal(failure.refused)}`;
  }
}

function explainRefusal(fields: readonly string[] = []): string {
  if (fields.length === 0) return "";
  return (
    `; without ${fields.join(", ")} no product is written, and the stored ones are served: ` +
    "check the scopes of the app and SHOPIFY_API_VERSION"
  );
}

const redirected = " (redirected): SHOP_DOMAIN must be the shop's .myshopify.com domain";

const hints: Partial<Record<number, string>> = {
  301: redirected,
  302: redirected,
  303: redirected,
  307: redirected,
  308: redirected,
  401: ": the access token was rejected",
  402: ": the shop is frozen",
  403: ": the app lacks permission, or the shop is closed to it",
  404: ": not found; SHOP_DOMAIN must be the shop's .myshopify.com domain",
  423: ": the shop is locked",
};
