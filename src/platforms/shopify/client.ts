import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../log.ts";
import type { ReadOptions } from "../platform.ts";
import { apiVersion, documents, type OperationName } from "./queries.ts";
import { describeFailure, type Failure, retryDelayMs, ShopifyError } from "./retry.ts";
import { Throttle, type ThrottleStatus } from "./throttle.ts";
import type { AccessToken } from "./token.ts";

export interface RequestOptions extends ReadOptions {
  /**
   * Called after each successful response with the time the request was sent, by the platform's
   * clock: milliseconds since 1970. It may be a second early, because the `Date` header has whole
   * seconds.
   */
  readonly onSentAt?: (platformMs: number) => void;
}

/**
 * Sends one of the documents and returns its data. Waits for the cost budget, and retries temporary
 * failures.
 * @throws ShopifyError
 */
export type SendRequest = <Data>(operation: OperationName, variables: object, options: RequestOptions) => Promise<Data>;

export interface ClientOptions {
  /** Address of the GraphQL endpoint. */
  readonly url: string;
  readonly token: AccessToken;
  readonly log: Log;
  /** Source of jitter, from 0 to 1. */
  readonly random?: () => number;
}

/** Shopify itself gives up on a query after ten seconds. */
const requestTimeoutMs = 15_000;

/** Points assumed for an operation until the first response reports its cost. */
const assumedCost = 150;

interface CostExtension {
  readonly requestedQueryCost: number;
  readonly throttleStatus: ThrottleStatus;
}

interface Body {
  readonly data?: unknown;
  readonly errors?: unknown;
  readonly extensions?: { readonly cost?: CostExtension };
}

type Outcome =
  | { readonly data: unknown }
  /** `canRenewToken`: the same request may succeed with a new access token. */
  | { readonly failure: Failure; readonly canRenewToken?: boolean };

export function createClient({ random = Math.random, ...options }: ClientOptions): SendRequest {
  const send = createSender(options);
  return async <Data>(operation: OperationName, variables: object, requestOptions: RequestOptions) => {
    const startedMs = performance.now();
    let isTokenRenewed = false;
    for (let number = 1; ; number++) {
      const outcome = await send(operation, variables, requestOptions);
      if ("data" in outcome) return outcome.data as Data;
      const { failure } = outcome;
      if (outcome.canRenewToken && !isTokenRenewed) {
        isTokenRenewed = true;
        continue;
      }
      const delayMs = retryDelayMs(failure, { number, elapsedMs: performance.now() - startedMs }, random());
      if (delayMs === undefined) throw new ShopifyError(operation, failure);
      options.log.debug(
        { operation, attempt: number, delayMs, failure: describeFailure(failure) },
        "retrying a Shopify request",
      );
      await sleep(delayMs, undefined, { signal: requestOptions.signal });
    }
  };
}

/** Sends one attempt within the cost budget. */
function createSender({ url, token, log }: Omit<ClientOptions, "random">) {
  const throttle = new Throttle();
  const costs = new Map<string, number>();
  const checkVersion = createVersionCheck(log);

  return async (operation: OperationName, variables: object, options: RequestOptions): Promise<Outcome> => {
    const key = costKey(operation, variables);
    const cost = costs.get(key) ?? assumedCost;
    const sentAtMs = await throttle.take(cost, options.priority, options.signal);
    let status: ThrottleStatus | undefined;
    try {
      const accessToken = await token.get(options.signal);
      const postedAtMs = performance.now();
      const response = await post(url, accessToken, operation, variables, options.signal);
      const platformMs = respondedAtMs(response) - (performance.now() - postedAtMs);
      checkVersion(response.headers.get("x-shopify-api-version"));
      const canRenewToken = response.status === 401 && token.renew(accessToken);
      if (!response.ok) return { failure: toStatusFailure(response), canRenewToken };
      const body = (await response.json()) as Body;
      const extension = body.extensions?.cost;
      status = extension?.throttleStatus;
      if (extension !== undefined) costs.set(key, extension.requestedQueryCost);
      const outcome = toOutcome(body);
      if ("data" in outcome) options.onSentAt?.(platformMs);
      return outcome;
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof ShopifyError) return { failure: error.failure };
      return { failure: { kind: "network", message: toMessage(error) } };
    } finally {
      throttle.settle(cost, status, sentAtMs);
    }
  };
}

/** The page sizes, which are the numeric variables, determine what a document costs. */
const costKey = (operation: string, variables: object) =>
  [operation, ...Object.values(variables).filter((value) => typeof value === "number")].join(" ");

/** Warns once about each version of the API that Shopify serves instead of the requested one. */
function createVersionCheck(log: Log): (served: string | null) => void {
  const known = new Set<string>([apiVersion]);
  return (served) => {
    if (served === null || known.has(served)) return;
    known.add(served);
    log.warn({ requested: apiVersion, served }, "Shopify serves a different API version than the one requested");
  };
}

function post(url: string, token: string, operation: OperationName, variables: object, signal: AbortSignal) {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-Shopify-Access-Token": token },
    body: JSON.stringify({ query: documents[operation], operationName: operation, variables }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
    // A redirect must not carry the token to another host.
    redirect: "manual",
  });
}

/** By the platform's clock; by the local clock when the response has no date. */
function respondedAtMs({ headers }: Response): number {
  const dateMs = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(dateMs) ? Date.now() : dateMs;
}

function toStatusFailure({ status, headers }: Response): Failure {
  const retryAfterS = Number.parseFloat(headers.get("retry-after") ?? "");
  return { kind: "status", status, ...(retryAfterS > 0 && { retryAfterS }) };
}

interface ShopifyErrorEntry {
  readonly message?: string;
  readonly extensions?: { readonly code?: string };
}

function toOutcome({ data, errors, extensions }: Body): Outcome {
  if (errors !== undefined) return { failure: toGraphqlFailure(errors, extensions?.cost) };
  if (typeof data !== "object" || data === null)
    return { failure: { kind: "network", message: "the response has no data" } };
  return { data };
}

function toGraphqlFailure(errors: unknown, cost: CostExtension | undefined): Failure {
  // Shopify also sends plain text here instead of a list.
  const entries: ShopifyErrorEntry[] = Array.isArray(errors) ? errors : [{ message: String(errors) }];
  const codes = entries.map(({ extensions }) => extensions?.code ?? "UNKNOWN");
  if (codes.includes("THROTTLED")) return { kind: "throttled", waitMs: toWaitMs(cost) };
  return { kind: "graphql", codes, message: entries[0]?.message ?? "" };
}

function toWaitMs(cost: CostExtension | undefined): number {
  if (cost === undefined) return 1000;
  const { currentlyAvailable, restoreRate } = cost.throttleStatus;
  return (Math.max(0, cost.requestedQueryCost - currentlyAvailable) / restoreRate) * 1000;
}

function toMessage(error: unknown): string {
  if (error instanceof SyntaxError) return "the response is incomplete or not JSON";
  const { name, message } = error as Error;
  return name === "TimeoutError" ? "the request timed out" : message;
}
