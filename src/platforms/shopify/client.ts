import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../log.ts";
import { apiVersion, documents, type OperationName } from "./queries.ts";
import { describeFailure, type Failure, PlatformError, retryDelayMs } from "./retry.ts";
import { type Priority, Throttle, type ThrottleStatus } from "./throttle.ts";
import type { AccessToken } from "./token.ts";

export interface RequestOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /**
   * Called with the instant at which an answered request was sent, by the platform's clock: milliseconds since 1970. It may be up to a
   * second early, since the platform dates its responses in whole seconds.
   */
  readonly onSentAt?: (platformMs: number) => void;
}

/** Sends one document to the platform, when its points are there, again when that can help, and answers the data. */
export type Request = <Data>(operation: OperationName, variables: object, options: RequestOptions) => Promise<Data>;

export interface ClientOptions {
  /** Address of the GraphQL endpoint. */
  readonly url: string;
  readonly token: AccessToken;
  readonly log: Log;
  /** Chance, from 0 to 1. */
  readonly random?: () => number;
}

/** A single request is given up after this long; the platform itself gives up after ten seconds. */
const requestTimeoutMs = 15_000;

/** Points assumed of an operation until an answer tells. */
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
  /** `renewable`: with another token the same request may be answered. */
  | { readonly failure: Failure; readonly renewable?: boolean };

export function createClient({ url, token, log, random = Math.random }: ClientOptions): Request {
  const throttle = new Throttle();
  const costs = new Map<string, number>();
  const versions = new Set<string>([apiVersion]);

  /** Every page size is a part of what a document costs. */
  const costKey = (operation: string, variables: object) =>
    [operation, ...Object.values(variables).filter((value) => typeof value === "number")].join(" ");

  const send = async (operation: OperationName, variables: object, options: RequestOptions): Promise<Outcome> => {
    const key = costKey(operation, variables);
    const cost = costs.get(key) ?? assumedCost;
    const sentAtMs = await throttle.take(cost, options.priority, options.signal);
    let status: ThrottleStatus | undefined;
    try {
      const accessToken = await token.get(options.signal);
      const postedAtMs = performance.now();
      const response = await post(url, accessToken, operation, variables, options.signal);
      const platformMs = answeredAtMs(response) - (performance.now() - postedAtMs);
      noticeVersion(response.headers.get("x-shopify-api-version"));
      const renewable = response.status === 401 && token.renew(accessToken);
      if (!response.ok) return { failure: toStatusFailure(response), renewable };
      const body = (await response.json()) as Body;
      const extension = body.extensions?.cost;
      status = extension?.throttleStatus;
      if (extension !== undefined) costs.set(key, extension.requestedQueryCost);
      const outcome = toOutcome(body);
      if ("data" in outcome) options.onSentAt?.(platformMs);
      return outcome;
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof PlatformError) return { failure: error.failure };
      return { failure: { kind: "network", message: toMessage(error) } };
    } finally {
      throttle.settle(cost, status, sentAtMs);
    }
  };

  const noticeVersion = (answered: string | null) => {
    if (answered === null || versions.has(answered)) return;
    versions.add(answered);
    log.warn({ asked: apiVersion, answered }, "the platform answers another version of its API than the one asked for");
  };

  return async <Data>(operation: OperationName, variables: object, options: RequestOptions) => {
    const begunMs = performance.now();
    let renewed = false;
    for (let number = 1; ; number++) {
      const outcome = await send(operation, variables, options);
      if ("data" in outcome) return outcome.data as Data;
      const { failure } = outcome;
      if (outcome.renewable && !renewed) {
        renewed = true;
        continue;
      }
      const delayMs = retryDelayMs(failure, { number, elapsedMs: performance.now() - begunMs }, random());
      if (delayMs === undefined) throw new PlatformError(operation, failure);
      log.debug(
        { operation, attempt: number, delayMs, failure: describeFailure(failure) },
        "asking the platform again",
      );
      await sleep(delayMs, undefined, { signal: options.signal });
    }
  };
}

function post(url: string, token: string, operation: OperationName, variables: object, signal: AbortSignal) {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-Shopify-Access-Token": token },
    body: JSON.stringify({ query: documents[operation], operationName: operation, variables }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
    // The token goes where it was meant to go, and nowhere else.
    redirect: "manual",
  });
}

/** When a response was made, by the platform's clock; by our own when the response has no date. */
function answeredAtMs({ headers }: Response): number {
  const dateMs = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(dateMs) ? Date.now() : dateMs;
}

function toStatusFailure({ status, headers }: Response): Failure {
  const retryAfterS = Number.parseFloat(headers.get("retry-after") ?? "");
  return { kind: "status", status, ...(retryAfterS > 0 && { retryAfterS }) };
}

interface PlatformErrorEntry {
  readonly message?: string;
  readonly extensions?: { readonly code?: string };
}

function toOutcome({ data, errors, extensions }: Body): Outcome {
  if (errors !== undefined) return { failure: toGraphqlFailure(errors, extensions?.cost) };
  if (typeof data !== "object" || data === null)
    return { failure: { kind: "network", message: "the answer holds no data" } };
  return { data };
}

function toGraphqlFailure(errors: unknown, cost: CostExtension | undefined): Failure {
  // Besides a list, the platform also answers a plain text here.
  const entries: PlatformErrorEntry[] = Array.isArray(errors) ? errors : [{ message: String(errors) }];
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
  if (error instanceof SyntaxError) return "its answer is not whole, or not JSON";
  const { name, message } = error as Error;
  return name === "TimeoutError" ? "it did not answer in time" : message;
}
