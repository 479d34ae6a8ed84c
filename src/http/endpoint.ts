import type { BunRequest, Server } from "bun";
import { ServiceError } from "../base/errors.ts";
import type { CompressionLoad, SendableBody } from "../cache/encoded-body.ts";
import { chooseEncoding } from "../cache/encoding.ts";
import { cdnNoStore } from "../cache/policy.ts";
import {
  type HeaderFields,
  matchesEntityTag,
  type PreparedResponse,
  prepareResponse,
  type ResponseParts,
  toAge,
  verifiedForMs,
} from "../cache/response.ts";
import type { ClientNetworks, RequestOrigin } from "./client-network.ts";
import { type Failure, toFailure, toProblem } from "./errors.ts";
import type { FailureLog } from "./failure-log.ts";
import { requireValidHost } from "./host.ts";
import { toLateBody } from "./late-body.ts";
import { makePrivate } from "./private-response.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { RequestCounter, RouteCounter } from "./request-counter.ts";

/** Handles `GET` and `HEAD`, or `POST`. @returns undefined when the requested object does not exist */
export type Handler = (
  request: BunRequest<string>,
  nowMs: number,
  origin: RequestOrigin,
) => PreparedResponse | undefined | Promise<PreparedResponse | undefined>;

export type FailureResponse = (failure: Failure, requestId: string, request: BunRequest<string>) => ResponseParts;

export interface Route {
  readonly get?: Handler;
  readonly post?: Handler;
  /** By default, failures are problem documents. */
  readonly toFailure?: FailureResponse;
  /** Exempts a route from the rate limit: probes, and the platform's deliveries. */
  readonly isUnlimited?: boolean;
}

export type Routes = Readonly<Record<string, Route>>;

export interface ListenerContext {
  readonly failureLog: FailureLog;
  readonly requests: RequestCounter;
  readonly compressionLoad: CompressionLoad;
  /** While draining, every response closes its connection. */
  readonly lifecycle: { readonly isDraining: boolean };
  readonly rateLimiter: RateLimiter | undefined;
  readonly networks: ClientNetworks;
  /** Whether responses have the headers `Server-Timing` and `Cache-Status`. */
  readonly sendsTiming: boolean;
  /** Whether to hide responses from pages of other sites and from shared caches. */
  readonly isPrivate: boolean;
  /** Caching headers of responses with status 400 and 404. */
  readonly notFoundCaching: HeaderFields;
  readonly cdnGuard: CdnGuard | undefined;
}

/** Keeps responses that may be older than a purge out of the CDN. */
export interface CdnGuard {
  /** The header that tells only the CDN how long to keep a response. */
  readonly field: string;
  /** All earlier changes have been applied to the cache; by `performance.now()`. */
  readonly verifiedAtMs: () => number;
}

interface RequestState extends RequestOrigin {
  readonly request: BunRequest<string>;
  readonly method: string;
  /** Its reference, once something refers to it. */
  requestId: string | undefined;
  readonly startedMs: number;
  rateLimitHeaders: HeaderFields | undefined;
  cacheStatus: string | undefined;
  isOutdated: boolean;
  /** Its value when the request started, for a CDN. */
  readonly verifiedAtMs: number;
  /** When the response's data was last known to be current. */
  asOfMs: number | undefined;
  /** Whether the handler returned a promise of the response. */
  isLate: boolean;
}

/** Serves one route, and `OPTIONS` for CORS on readable ones. A cached response needs no promise. */
export class Endpoint {
  readonly #context: ListenerContext;
  readonly #route: Route;
  readonly #counter: RouteCounter;
  readonly #rateLimiter: RateLimiter | undefined;
  readonly #allowedMethods: string;

  /** @param template such as `/api/v1/products/:id`; labels the metrics */
  constructor(context: ListenerContext, template: string, route: Route) {
    this.#context = context;
    this.#route = route;
    this.#counter = context.requests.route(template);
    this.#rateLimiter = route.isUnlimited === true ? undefined : context.rateLimiter;
    this.#allowedMethods = [
      ...(route.get === undefined ? [] : ["GET, HEAD, OPTIONS"]),
      ...(route.post === undefined ? [] : ["POST"]),
    ].join(", ");
  }

  handle(request: BunRequest<string>, server: Server<undefined>): Response | Promise<Response> {
    const { method } = request;
    const { cdnGuard } = this.#context;
    const startedMs = performance.now();
    const state: RequestState = {
      request,
      server,
      method,
      requestId: undefined,
      startedMs,
      rateLimitHeaders: undefined,
      cacheStatus: undefined,
      isOutdated: false,
      verifiedAtMs: cdnGuard?.verifiedAtMs() ?? startedMs,
      asOfMs: undefined,
      isLate: false,
    };
    let response: ReturnType<Handler>;
    try {
      // A preflight does not count, because the request that follows it does.
      if (this.#rateLimiter !== undefined && this.#rateLimiter.perMinute > 0 && method !== "OPTIONS")
        applyRateLimit(this.#rateLimiter, this.#context.networks.of(state), state);
      requireValidHost(request);
      const handler = this.#handlerOf(method);
      if (handler !== undefined) response = handler(request, startedMs, state);
      else if (method === "OPTIONS" && this.#route.get !== undefined) {
        return this.#finish(preflight(this.#allowedMethods), 204, state);
      } else {
        throw new ServiceError("method_not_allowed", `${method} is not allowed here. Use ${this.#allowedMethods}.`);
      }
    } catch (error) {
      response = this.#fail(error, state);
    }
    if (!(response instanceof Promise)) return this.#respond(response ?? this.#fail(notFound(), state), state);
    state.isLate = true;
    return response
      .then((found) => found ?? this.#fail(notFound(), state))
      .catch((error) => this.#fail(error, state))
      .then((late) => this.#respond(late, state));
  }

  #handlerOf(method: string): Handler | undefined {
    if (method === "GET" || method === "HEAD") return this.#route.get;
    return method === "POST" ? this.#route.post : undefined;
  }

  #fail(error: unknown, state: RequestState): PreparedResponse {
    const { request, verifiedAtMs } = state;
    const requestId = referenceOf(state);
    const { failureLog, notFoundCaching, isPrivate, cdnGuard } = this.#context;
    const failure = toFailure(error);
    failureLog.write(failure, error, request, requestId);
    const isGeneral = areGeneral.has(failure.code);
    const toParts = isGeneral ? toProblem : (this.#route.toFailure ?? toProblem);
    const isCacheable = !isPrivate && !isGeneral && (failure.status === 404 || failure.status === 400);
    const caching = isCacheable ? notFoundCaching : noStore;
    const parts = toParts(failure, requestId, request);
    const allow = failure.code === "method_not_allowed" && { Allow: this.#allowedMethods };
    const headers = { ...caching, ...failure.headers, ...allow, ...parts.headers };
    // Without a CDN, nothing keeps it for long.
    return prepareResponse({ ...parts, headers, asOfMs: isCacheable && cdnGuard ? verifiedAtMs : undefined });
  }

  #respond(prepared: PreparedResponse, state: RequestState): Response | Promise<Response> {
    const { body } = prepared;
    const { headers } = state.request;
    const { status, etag } = body;
    state.cacheStatus = prepared.cacheStatus;
    state.isOutdated = prepared.isOutdated;
    state.asOfMs = prepared.asOfMs;
    if (prepared.isRead) referenceOf(state);
    if (etag !== undefined && failsIfMatch(headers.get("if-match")))
      return this.#respond(this.#fail(preconditionFailed(), state), state);
    const ifNoneMatch = etag === undefined ? null : headers.get("if-none-match");
    if (etag !== undefined && ifNoneMatch !== null && matchesEntityTag(etag, ifNoneMatch)) {
      return this.#finish(toResponse(304, null, prepared.headersFor("not-modified"), state), 304, state);
    }
    const { compressionLoad } = this.#context;
    const encoding = body.isCompressible
      ? body.available(chooseEncoding(headers.get("accept-encoding")), compressionLoad)
      : "identity";
    const encoded = body.encode(encoding, compressionLoad);
    if (!(encoded instanceof Promise)) {
      return this.#finish(toResponse(status, encoded, prepared.headersFor(encoding), state), status, state);
    }
    state.isLate = true;
    return encoded.then((late) =>
      this.#finish(toResponse(status, late, prepared.headersFor(encoding), state), status, state),
    );
  }

  #finish(response: Response, status: number, state: RequestState): Response {
    const { method, startedMs, rateLimitHeaders, cacheStatus, asOfMs } = state;
    const { lifecycle, sendsTiming, isPrivate, cdnGuard } = this.#context;
    const nowMs = performance.now();
    const seconds = (nowMs - startedMs) / 1000;
    this.#counter.count(method, status, seconds);
    // As late as possible: the process may have been frozen since the request arrived.
    const age = asOfMs === undefined ? undefined : toAge(nowMs - asOfMs);
    if (age !== undefined) response.headers.set("Age", age);
    const isOld = nowMs - (asOfMs ?? state.verifiedAtMs) >= verifiedForMs;
    if (cdnGuard !== undefined && (state.isOutdated || isOld)) {
      if (response.headers.has(cdnGuard.field)) response.headers.set(cdnGuard.field, cdnNoStore);
    }
    if (isPrivate) makePrivate(response);
    // After CONNECT, the runtime reads no more requests from the connection.
    if (lifecycle.isDraining || method === "CONNECT") response.headers.set("Connection", "close");
    if (sendsTiming) {
      response.headers.set("Server-Timing", `total;dur=${(seconds * 1000).toFixed(2)}`);
      if (cacheStatus !== undefined) response.headers.set("Cache-Status", cacheStatus);
    }
    if (rateLimitHeaders !== undefined && !isStorable(response.headers)) {
      for (const [name, value] of Object.entries(rateLimitHeaders)) response.headers.set(name, value);
    }
    return response;
  }
}

/**
 * The reference of a request. Never the client's own, because a shared cache may keep the response.
 * 74 random bits are unique in any log, and short enough to quote.
 */
function referenceOf(state: RequestState): string {
  state.requestId ??= crypto.randomUUID().slice(0, 23);
  return state.requestId;
}

const notFound = () => new ServiceError("not_found", "Not Found");

/** All entity tags are weak, and `If-Match` requires equal strong ones (RFC 9110, section 13.1.1). */
const failsIfMatch = (ifMatch: string | null) => ifMatch !== null && ifMatch.trim() !== "*";

const preconditionFailed = () =>
  new ServiceError(
    "precondition_failed",
    "If-Match can only be *, because all entity tags are weak. Use If-None-Match.",
  );

/** These failures do not depend on the route or its URL, so a cache must not keep them. */
const areGeneral = new Set<Failure["code"]>([
  "invalid_host",
  "method_not_allowed",
  "precondition_failed",
  "too_many_requests",
]);

/** The server adds `Content-Length` and omits the body for `HEAD`. */
function toResponse(
  status: number,
  body: SendableBody | null,
  headers: Headers,
  { requestId, method, isLate }: RequestState,
): Response {
  const isStream = isLate && body !== null && method !== "HEAD";
  const response = new Response(isStream ? toLateBody(body) : body, { status, headers });
  // In the copy: other responses share `headers`.
  if (requestId !== undefined) response.headers.set("X-Request-Id", requestId);
  // The server sets `Date` on all responses except those to `HEAD`.
  if (method === "HEAD") response.headers.set("Date", new Date().toUTCString());
  return response;
}

function preflight(allowedMethods: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      Allow: allowedMethods,
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": allowedMethods,
      "Access-Control-Allow-Headers": "*, X-Request-Id",
      "Access-Control-Max-Age": "86400",
    },
  });
}

/** A cache would repeat one client's allowance to others. */
const isStorable = (headers: Headers) => headers.get("Cache-Control")?.startsWith("public") === true;

/** @throws ServiceError `too_many_requests` */
function applyRateLimit(limiter: RateLimiter, network: string, state: RequestState): void {
  const { isAllowed, remaining, resetS } = limiter.take(network);
  state.rateLimitHeaders = {
    "RateLimit-Policy": `"minute";q=${limiter.perMinute};w=60`,
    RateLimit: `"minute";r=${remaining};t=${resetS}`,
  };
  if (isAllowed) return;
  throw new ServiceError(
    "too_many_requests",
    `The rate limit of ${limiter.perMinute} requests per minute is exceeded.`,
    { retryAfterS: resetS },
  );
}

export const noStore: HeaderFields = { "Cache-Control": "no-store" };
