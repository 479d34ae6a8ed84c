import { setTimeout as sleep } from "node:timers/promises";
import { LargeBodyError, readJson } from "../../base/body.ts";
import type { Log } from "../../base/log.ts";
import { createFetch, type Fetch } from "../../base/outgoing.ts";
import { parseRetryAfter } from "../../base/retry-after.ts";
import type { PointsReport, ReadOptions, SharedPoints } from "../platform.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { Documents } from "./documents.ts";
import { type FieldError, findRefusedField } from "./optional-fields.ts";
import type { DocumentSet, OperationName } from "./queries.ts";
import { type ReportedCost, readCost } from "./reported-cost.ts";
import { type Responses, shapes } from "./responses.ts";
import { describeFailure, isBusy, type RequestFailure, retryDelayMs, ShopifyError } from "./retry.ts";
import { createPointsTaker } from "./shared-points.ts";
import { Throttle } from "./throttle.ts";
import type { AccessToken } from "./token.ts";

export interface RequestOptions extends ReadOptions {
  /** Whether to fail at once, unless Shopify is only busy. */
  readonly isCheck?: boolean;
}

export interface SentRequest {
  /** Milliseconds since 1970, by the platform's clock; maybe a second early, because `Date` is rounded. */
  readonly sentAtMs: number;
  /** When the response arrives, other documents may be current. */
  readonly documents: DocumentSet;
}

/** Waits for the cost budget, and retries temporary failures. @throws ShopifyError */
export type SendRequest = <Name extends OperationName>(
  operation: Name,
  variables: object,
  options: RequestOptions,
) => Promise<Responses[Name] & { readonly sent: SentRequest }>;

export interface ClientOptions {
  readonly url: string;
  readonly token: AccessToken;
  readonly log: Log;
  readonly fetch?: Fetch;
  readonly documents?: Documents;
  /** Undefined when no other process shares the budget. */
  readonly points?: SharedPoints | undefined;
  /** Source of jitter, from 0 to 1. */
  readonly random?: () => number;
}

/** Shopify itself gives up on a query after ten seconds. */
const requestTimeoutMs = 15_000;

/** Many times the largest page. The whole body and its objects are in memory. */
const maxBodyMegabytes = 64;

/** Points assumed for an operation until the first response reports its cost. */
const assumedCost = 150;

interface Body {
  readonly data?: unknown;
  readonly errors?: unknown;
  readonly extensions?: { readonly cost?: unknown };
}

interface Failed {
  readonly failure: RequestFailure;
  /** The same request may succeed with a new access token. */
  readonly canRenewToken?: boolean;
  /** The same request may succeed without the fields that these errors refuse. */
  readonly errors?: readonly FieldError[];
  readonly sent?: SentRequest;
}

type Outcome = { readonly data: object; readonly sent: SentRequest } | Failed;

export function createClient({ random = Math.random, ...options }: ClientOptions): SendRequest {
  const documents = options.documents ?? new Documents(options.log);
  const breaker = new CircuitBreaker();
  const send = createSender({ ...options, documents });
  return async <Name extends OperationName>(operation: Name, variables: object, requestOptions: RequestOptions) => {
    const startedMs = performance.now();
    let isTokenRenewed = false;
    let decides = false;
    for (let number = 1; ; number++) {
      if (!decides) decides = breaker.check(operation);
      const outcome = await send(operation, variables, requestOptions);
      if ("data" in outcome) {
        breaker.succeed(operation);
        return { ...(outcome.data as Responses[Name]), sent: outcome.sent };
      }
      const { failure, errors } = outcome;
      if (errors !== undefined && documents.leaveOut(errors, outcome.sent?.documents)) continue;
      if (outcome.canRenewToken && !isTokenRenewed) {
        isTokenRenewed = true;
        continue;
      }
      const isFinal = requestOptions.isCheck === true && !isBusy(failure);
      const elapsedMs = performance.now() - startedMs;
      const delayMs = isFinal ? undefined : retryDelayMs(failure, { number, elapsedMs }, random());
      if (delayMs === undefined) throw breaker.fail(operation, failure);
      options.log.debug(
        { operation, attempt: number, delayMs, failure: describeFailure(failure) },
        "retrying a Shopify request",
      );
      await sleep(delayMs, undefined, { signal: requestOptions.signal });
    }
  };
}

function createSender({
  url,
  token,
  log,
  points,
  documents,
  fetch = createFetch(),
}: ClientOptions & { readonly documents: Documents }) {
  const throttle = new Throttle();
  const costs = new Map<string, number>();
  const takeShared = createPointsTaker(points, log);
  const checkVersion = createVersionCheck(log, url);

  return async (operation: OperationName, variables: object, options: RequestOptions): Promise<Outcome> => {
    const key = costKey(operation, variables);
    const cost = costs.get(key) ?? assumedCost;
    const sentAtMs = await throttle.take(cost, options.priority, options.signal);
    let status: PointsReport | undefined;
    let shared: SharedPoints | undefined;
    // A failed request may have spent points, but then the next response reports fewer.
    let refund = cost;
    try {
      shared = await takeShared(cost, options);
      const accessToken = await token.get(options.signal);
      const postedAtMs = performance.now();
      const { current } = documents;
      const body = { query: current.documents[operation], operationName: operation, variables };
      const response = await post(fetch, url, accessToken, body, options.signal);
      const platformMs = respondedAtMs(response) - (performance.now() - postedAtMs);
      checkVersion(response.headers.get("x-shopify-api-version"));
      const canRenewToken = response.status === 401 && token.renew(accessToken);
      if (!response.ok) {
        const { status, headers } = response;
        return { failure: { kind: "status", status, retryAfterS: parseRetryAfter(headers) }, canRenewToken };
      }
      const answer: Body = Object(await readJson(response, maxBodyMegabytes));
      const reported = readCost(answer.extensions?.cost);
      status = reported?.status;
      if (reported !== undefined) refund = cost - reported.actual;
      if (reported !== undefined) costs.set(key, reported.requested);
      return { ...toOutcome(operation, answer, reported), sent: { sentAtMs: platformMs, documents: current } };
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof ShopifyError) return { failure: error.failure };
      if (error instanceof LargeBodyError) return { failure: { kind: "large", message: error.message } };
      return { failure: { kind: "network", message: toMessage(error, url) } };
    } finally {
      throttle.settle(cost, status, sentAtMs);
      await shared?.settle(refund, status).catch((error) => log.debug({ err: error }, "points could not be settled"));
    }
  };
}

/** The page sizes, which are the numeric variables, determine what a document costs. */
const costKey = (operation: string, variables: object) =>
  [operation, ...Object.values(variables).filter((value) => typeof value === "number")].join(" ");

/** Warns once about each version of the API that Shopify serves instead of the requested one. */
function createVersionCheck(log: Log, url: string): (served: string | null) => void {
  const requested = /\/admin\/api\/([^/]+)\//.exec(url)?.[1];
  const known = new Set([requested]);
  return (served) => {
    if (served === null || requested === undefined || known.has(served)) return;
    known.add(served);
    log.warn({ requested, served }, "Shopify serves a different API version than the one requested");
  };
}

function post(fetch: Fetch, url: string, token: string, body: object, signal: AbortSignal) {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-Shopify-Access-Token": token },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
    // A redirect must not carry the token to another host.
    redirect: "manual",
  });
}

/** Uses the local clock if the response has no date. */
function respondedAtMs({ headers }: Response): number {
  const dateMs = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(dateMs) ? Date.now() : dateMs;
}

type ShopifyErrorEntry = FieldError & { readonly message?: string };

/** A part of one product, below which another product may be fine. */
const ofOneProduct = /^\.product(Variant)?\./;

function toOutcome(operation: OperationName, { data, errors }: Body, cost: ReportedCost | undefined) {
  if (errors != null && !(Array.isArray(errors) && errors.length === 0)) {
    const entries = (Array.isArray(errors) ? errors : [errors]).map(toErrorEntry);
    return { failure: toGraphqlFailure(entries, cost), errors: entries };
  }
  // A proxy may break the schema.
  const path = shapes[operation](data);
  if (path === undefined) return { data: data as object };
  const message = `the response has no valid data${path}`;
  return { failure: { kind: "network", message, isPartial: ofOneProduct.test(path) } as const };
}

/** Shopify also sends plain text instead of a list of objects. */
function toErrorEntry(error: unknown): ShopifyErrorEntry {
  if (typeof error !== "object" || error === null) return { message: String(error) };
  const { path, ...entry } = error as ShopifyErrorEntry;
  return Array.isArray(path) ? { ...entry, path } : entry;
}

function toGraphqlFailure(entries: readonly ShopifyErrorEntry[], cost: ReportedCost | undefined): RequestFailure {
  const codes = entries.map(({ extensions }) => extensions?.code ?? "UNKNOWN");
  if (codes.includes("THROTTLED")) return { kind: "throttled", waitMs: toWaitMs(cost) };
  const refused = [...new Set(entries.map(findRefusedField).filter((field) => field !== undefined))];
  const isPartial = entries.every(({ path }) => path !== undefined && path.length > 0);
  const message = entries[0]?.message ?? "";
  return { kind: "graphql", codes, message, isPartial, ...(refused.length > 0 && { refused }) };
}

function toWaitMs(cost: ReportedCost | undefined): number {
  if (cost === undefined) return 1000;
  const { currentlyAvailable, restoreRate } = cost.status;
  return (Math.max(0, cost.requested - currentlyAvailable) / restoreRate) * 1000;
}

function toMessage(error: unknown, url: string): string {
  if (error instanceof SyntaxError) return "the response is incomplete or not JSON";
  const { name, code, message } = error as NodeJS.ErrnoException;
  const { host, hostname } = new URL(url);
  if (name === "TimeoutError") return "the request timed out";
  if (code === "ECONNREFUSED") return `${host} refused the connection`;
  if (code === "ENOTFOUND") return `the host ${hostname} is unknown`;
  return message;
}
