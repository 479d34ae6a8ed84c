import { ServiceError } from "../../errors.ts";

/** Why a request to the platform brought no answer. */
export type Failure =
  /** Nothing came, or not all of it, or not JSON. */
  | { readonly kind: "network"; readonly message: string }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterS?: number }
  /** The platform wants this many milliseconds of waiting for the points that were asked for. */
  | { readonly kind: "throttled"; readonly waitMs: number }
  /** No access token was granted. */
  | { readonly kind: "grant"; readonly status: number }
  /** Errors in an answer: their codes, and the first one's message. */
  | { readonly kind: "graphql"; readonly codes: readonly string[]; readonly message: string };

/** The platform could not be asked, or did not answer what was asked. */
export class PlatformError extends ServiceError {
  readonly failure: Failure;

  constructor(operation: string, failure: Failure) {
    super("unavailable", `the platform did not answer ${operation}: ${describeFailure(failure)}`);
    this.failure = failure;
  }
}

export interface Attempt {
  /** Counted from 1. */
  readonly number: number;
  readonly elapsedMs: number;
}

const maxAttempts = 10;
const maxElapsedMs = 120_000;
const firstDelayMs = 250;
const longestDelayMs = 20_000;

/**
 * Milliseconds to wait before the next attempt, or undefined when there shall be none. What will not get better by asking again
 * is not asked again: a query over the cost limit, a missing scope, a refused token, a frozen or locked shop.
 * @param random from 0 to 1: all of a delay that nobody asked for is jitter
 */
export function retryDelayMs(failure: Failure, attempt: Attempt, random: number): number | undefined {
  if (!canPass(failure) || attempt.number >= maxAttempts) return undefined;
  const backoffMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt.number - 1)) * random;
  const delayMs = askedForMs(failure) + backoffMs;
  return attempt.elapsedMs + delayMs <= maxElapsedMs ? delayMs : undefined;
}

function canPass(failure: Failure): boolean {
  switch (failure.kind) {
    case "network":
    case "throttled":
      return true;
    case "grant":
    case "status":
      // 430 is the platform's own: it took the request for an attack, or too many came at once.
      return failure.status === 429 || failure.status === 430 || failure.status === 408 || failure.status >= 500;
    case "graphql":
      return (
        failure.codes.length > 0 &&
        failure.codes.every((code) => code === "INTERNAL_SERVER_ERROR" || code === "TIMEOUT")
      );
  }
}

function askedForMs(failure: Failure): number {
  if (failure.kind === "throttled") return failure.waitMs;
  if (failure.kind === "status") return (failure.retryAfterS ?? 0) * 1000;
  return 0;
}

/** In words, for a log and a run's reason. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case "network":
      return failure.message;
    case "throttled":
      return "it throttled the request";
    case "grant":
      return `it grants no access token (status ${failure.status}); check SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET`;
    case "status":
      return `it answered with status ${failure.status}${hints[failure.status] ?? ""}`;
    case "graphql":
      return `${failure.codes.join(", ")}: ${failure.message}`;
  }
}

const elsewhere = ": it sends elsewhere; SHOP_DOMAIN must be the shop's .myshopify.com domain";

const hints: Partial<Record<number, string>> = {
  301: elsewhere,
  302: elsewhere,
  303: elsewhere,
  307: elsewhere,
  308: elsewhere,
  401: ": it refuses the access token",
  402: ": the shop is frozen",
  403: ": the app may not do this, or the shop is closed to it",
  404: ": there is no such address; SHOP_DOMAIN must be the shop's .myshopify.com domain",
  423: ": the shop is locked",
};
