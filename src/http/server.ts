import type { BunRequest, Server } from "bun";
import type { CachePolicy } from "../caching.ts";
import { ServiceError } from "../errors.ts";
import { Answer, Content, type ContentParts, type Fields, isNamed } from "./answer.ts";
import type { RateLimiter } from "./client.ts";
import { chooseCoding } from "./coding.ts";
import { allowedMethods, type Failure, toFailure, toProblem } from "./errors.ts";
import type { FailureLog } from "./failure-log.ts";
import type { RequestCounter } from "./requests.ts";

/** @returns undefined when there is nothing of that name */
export type Handler = (
  request: BunRequest<string>,
  requestId: string,
) => Answer | undefined | Promise<Answer | undefined>;

/** Makes a failure the operation's own kind of answer. */
export type FailureAnswer = (failure: Failure, requestId: string, request: BunRequest<string>) => ContentParts;

/** What is at an address: what it answers, and, where it has its own, how it fails. */
export interface Resource {
  readonly get: Handler;
  readonly toFailure?: FailureAnswer;
}

/** By route template, such as `/api/v1/products/:id`. */
export type Resources = Readonly<Record<string, Resource>>;

type Endpoint = (request: BunRequest<string>, server: Server<undefined>) => Response | Promise<Response>;

/** What the endpoints of a listener share. */
export interface Serving {
  readonly log: FailureLog;
  readonly requests: RequestCounter;
  /** Whether the service is about to stop: every answer then closes its connection. */
  readonly life: { readonly isDraining: boolean };
  readonly limiter: RateLimiter | undefined;
  /** Whether every answer says how long it took. */
  readonly tellsTiming: boolean;
  /** How long a mistaken address may be remembered by caches. */
  readonly notFound: CachePolicy;
}

/** An incoming reference that can stand in a header, a log line and a message as it is. */
const saneReference = /^[\w.:=+/@-]{1,128}$/;

function requestIdOf(headers: Headers): string {
  const incoming = headers.get("x-request-id");
  return incoming !== null && saneReference.test(incoming) ? incoming : crypto.randomUUID();
}

/**
 * A read-only resource: `GET` and `HEAD` by the handler, `OPTIONS` for CORS, anything else refused.
 * An answer that is there already goes out without a promise in between.
 * @param route the template, by which requests are counted
 */
function endpoint(serving: Serving, route: string, { get, toFailure: toAnswer = toProblem }: Resource): Endpoint {
  const fail = (error: unknown, request: BunRequest<string>, requestId: string): Answer => {
    const failure = toFailure(error);
    serving.log.failed(failure, error, request, requestId);
    // What is wrong before the operation is reached is not its failure, so it does not get the operation's kind of answer.
    const answer = outsideOperation.has(failure.code) ? toProblem : toAnswer;
    const parts = answer(failure, requestId, request);
    const caching = failure.status === 404 || failure.status === 400 ? cachingFields(serving.notFound) : notStored;
    return new Answer(new Content({ ...parts, headers: { ...caching, ...failure.headers, ...parts.headers } }));
  };
  const done = (response: Response, request: Request, begunMs: number, limits?: Fields): Response => {
    const seconds = (performance.now() - begunMs) / 1000;
    serving.requests.count(route, request.method, response.status, seconds);
    if (serving.life.isDraining) response.headers.set("Connection", "close");
    if (serving.tellsTiming) response.headers.set("Server-Timing", `total;dur=${(seconds * 1000).toFixed(2)}`);
    for (const name in limits) response.headers.set(name, limits[name] as string);
    return response;
  };
  return (request, server) => {
    const begunMs = performance.now();
    const requestId = requestIdOf(request.headers);
    let limits: Fields | undefined;
    let answer: ReturnType<Handler>;
    try {
      if (serving.limiter !== undefined) limits = takeAllowance(serving.limiter, request, server);
      if (request.method === "GET" || request.method === "HEAD") answer = get(request, requestId);
      else if (request.method === "OPTIONS") return done(preflight(requestId), request, begunMs, limits);
      else
        throw new ServiceError("method_not_allowed", `This address answers ${allowedMethods}, not ${request.method}.`);
    } catch (error) {
      answer = fail(error, request, requestId);
    }
    if (!(answer instanceof Promise)) {
      const response = respond(answer ?? fail(absent(), request, requestId), request, requestId);
      return response instanceof Response
        ? done(response, request, begunMs, limits)
        : response.then((late) => done(late, request, begunMs, limits));
    }
    return answer
      .then((found) => found ?? fail(absent(), request, requestId))
      .catch((error) => fail(error, request, requestId))
      .then((late) => respond(late, request, requestId))
      .then((late) => done(late, request, begunMs, limits));
  };
}

const absent = () => new ServiceError("not_found", "Not Found");

const outsideOperation = new Set<Failure["code"]>(["method_not_allowed", "too_many_requests"]);

/** What goes out: a response of the finished answer, in the form that the request asks for. */
function respond(answer: Answer, request: Request, requestId: string): Response | Promise<Response> {
  const { content } = answer;
  const { etag } = content;
  const names = etag === undefined ? null : request.headers.get("if-none-match");
  if (etag !== undefined && names !== null && isNamed(etag, names)) {
    return toResponse(304, null, answer.headersFor("unchanged"), request, requestId);
  }
  const coding = content.isCompressible ? chooseCoding(request.headers.get("accept-encoding")) : "identity";
  const body = content.in(coding);
  if (body instanceof Promise) {
    return body.then((made) => toResponse(content.status, made, answer.headersFor(coding), request, requestId));
  }
  return toResponse(content.status, body, answer.headersFor(coding), request, requestId);
}

/** The server adds the length, and leaves out the body of an answer to `HEAD`. */
function toResponse(
  status: number,
  body: Uint8Array<ArrayBuffer> | null,
  headers: Headers,
  request: Request,
  requestId: string,
): Response {
  // The response copies them: the next one sets its own.
  headers.set("X-Request-Id", requestId);
  const response = new Response(body, { status, headers });
  // The server dates every answer but those to HEAD.
  if (request.method === "HEAD") response.headers.set("Date", new Date().toUTCString());
  return response;
}

function preflight(requestId: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "X-Request-Id": requestId,
      Allow: allowedMethods,
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": allowedMethods,
      "Access-Control-Allow-Headers": "*, X-Request-Id",
      "Access-Control-Max-Age": "86400",
    },
  });
}

/** @throws ServiceError `too_many_requests` */
function takeAllowance(limiter: RateLimiter, request: Request, server: Server<undefined>): Fields {
  const connected = server.requestIP(request)?.address ?? "";
  const { isAllowed, remaining, resetS } = limiter.take(connected, request.headers.get("x-forwarded-for"));
  if (!isAllowed) {
    throw new ServiceError("too_many_requests", `This client may ask ${limiter.perMinute} times a minute.`, {
      retryAfterS: resetS,
    });
  }
  return {
    "RateLimit-Policy": `"minute";q=${limiter.perMinute};w=60`,
    RateLimit: `"minute";r=${remaining};t=${resetS}`,
  };
}

/** Fields that say how long an answer may be kept. */
export const cachingFields = ({ cacheControl, cdnCacheControl }: CachePolicy): Fields => ({
  "Cache-Control": cacheControl,
  "CDN-Cache-Control": cdnCacheControl,
});

/** Longer names go without a tag of their own. */
const longestTag = 900;

/** Tags by which a cache in between can be told to forget: all of a kind, or one. */
export function purgeFields(kind: string, name?: string): Fields {
  const tag = name === undefined ? "" : `${kind}-${encodeURIComponent(name.toWellFormed())}`;
  const tags = tag === "" || tag.length > longestTag ? [kind] : [kind, tag];
  return { "Cache-Tag": tags.join(","), "Surrogate-Key": tags.join(" ") };
}

export const notStored: Fields = { "Cache-Control": "no-store" };

const pathOf = (request: Request) => new URL(request.url).pathname;

/**
 * The value of a path parameter.
 * @throws ServiceError `bad_request` when its percent-encoding is malformed.
 */
export function parameter(request: BunRequest<string>, name: string): string {
  const value = (request.params as Record<string, string>)[name] ?? "";
  // The router puts U+FFFD where it cannot decode: only then is the address itself asked.
  if (value.includes("\uFFFD")) {
    try {
      decodeURIComponent(pathOf(request));
    } catch (cause) {
      throw new ServiceError("bad_request", "The path's percent-encoding is malformed.", { cause });
    }
  }
  return value;
}

export interface Listener {
  readonly url: string;
  /** Takes no new connection, lets the answers under way end, and after `graceMs` ends them. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether another process may listen there too. */
  readonly isShared: boolean;
  /** Seconds after which a connection is closed on which nothing comes; 0 never. */
  readonly idleSeconds: number;
}

/** @throws ServiceError `invalid_setting` when the address cannot be bound. */
export function listen(
  resources: Resources,
  serving: Serving,
  { host, port, isShared, idleSeconds }: ListenOptions,
): Listener {
  const unknown = endpoint(serving, "(unknown)", {
    get: () => {
      throw new ServiceError("not_found", "There is nothing at this address; /docs lists what there is.");
    },
  });
  const routes = Object.fromEntries(
    Object.entries(resources).map(([route, resource]) => [route, endpoint(serving, route, resource)]),
  );
  let server: Server<undefined>;
  try {
    server = Bun.serve({
      hostname: host,
      port,
      reusePort: isShared,
      idleTimeout: idleSeconds,
      routes,
      // Every answer is to a request without a body.
      maxRequestBodySize: 64 * 1024,
      development: false,
      fetch: (request, server) => unknown(request as BunRequest<string>, server),
    });
  } catch (cause) {
    const reason = (cause as Error).message;
    const hint = "PORT and ADMIN_PORT choose others";
    throw new ServiceError("invalid_setting", `cannot listen on ${host} port ${port}: ${reason} ${hint}`, { cause });
  }
  return {
    url: server.url.href.replace(/\/$/, ""),
    stop: async (graceMs) => {
      const drained = server.stop();
      await Promise.race([drained, Bun.sleep(graceMs)]);
      await server.stop(true);
    },
  };
}
