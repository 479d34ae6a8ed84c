import type { BunRequest, Server } from "bun";
import { chooseEncoding } from "../cache/encoding.ts";
import {
  type Answer,
  type AnswerParts,
  type Fields,
  matchesEntityTag,
  type PurgeTags,
  Template,
  toAnswer,
  varyByEncoding,
} from "../cache/response.ts";
import { ServiceError } from "../errors.ts";
import type { CachePolicy } from "../model/cache-policy.ts";
import { allowedMethods, type Failure, toFailure, toProblem } from "./errors.ts";
import type { FailureLog } from "./failure-log.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { RequestCounter, RouteCounter } from "./request-counter.ts";

/**
 * @param nowMs when the request came, by `performance.now()`
 * @returns undefined when there is nothing of that name
 */
export type Handler = (
  request: BunRequest<string>,
  requestId: string,
  nowMs: number,
) => Answer | undefined | Promise<Answer | undefined>;

/** Makes a failure the operation's own kind of answer. */
export type FailureAnswer = (failure: Failure, requestId: string, request: BunRequest<string>) => AnswerParts;

/** What is at an address: what it answers, and, where it has its own, how it fails. */
export interface Resource {
  readonly get: Handler;
  readonly toFailure?: FailureAnswer;
  /** Whether it is asked by those who watch the service, as often as they like. */
  readonly isProbe?: boolean;
}

/** By route template, such as `/api/v1/products/:id`. */
export type Resources = Readonly<Record<string, Resource>>;

/** What the endpoints of a listener share. */
export interface Serving {
  readonly log: FailureLog;
  readonly requests: RequestCounter;
  /** Whether the service is about to stop: every answer then closes its connection. */
  readonly life: { readonly isDraining: boolean };
  readonly limiter: RateLimiter | undefined;
  /** Whether every answer says how long it took. */
  readonly tellsTiming: boolean;
  /** Whether nothing that this listener answers is for other sites' pages, or for shared caches. */
  readonly isPrivate: boolean;
  /** How long a mistaken address may be remembered by caches. */
  readonly notFound: CachePolicy;
}

/**
 * One address: `GET` and `HEAD` by its handler, `OPTIONS` for CORS, anything else refused.
 * An answer that is there already goes out without a promise in between.
 */
export class Endpoint {
  readonly #serving: Serving;
  readonly #resource: Resource;
  readonly #counter: RouteCounter;
  readonly #limiter: RateLimiter | undefined;

  /** @param route the template, such as `/api/v1/products/:id`, by which requests are counted */
  constructor(serving: Serving, route: string, resource: Resource) {
    this.#serving = serving;
    this.#resource = resource;
    this.#counter = serving.requests.route(route);
    this.#limiter = resource.isProbe === true ? undefined : serving.limiter;
  }

  handle(request: BunRequest<string>, server: Server<undefined>): Response | Promise<Response> {
    const { method } = request;
    // Always our own: a shared cache may keep the response, so nothing of the caller's belongs in it.
    const requestId = crypto.randomUUID();
    const asked: Asked = { request, method, requestId, begunMs: performance.now(), limits: undefined };
    let answer: ReturnType<Handler>;
    try {
      if (this.#limiter !== undefined) takeAllowance(this.#limiter, asked, server);
      if (method === "GET" || method === "HEAD") answer = this.#resource.get(request, requestId, asked.begunMs);
      else if (method === "OPTIONS") return this.#done(preflight(requestId), 204, asked);
      else throw new ServiceError("method_not_allowed", `This address answers ${allowedMethods}, not ${method}.`);
    } catch (error) {
      answer = this.#fail(error, asked);
    }
    if (!(answer instanceof Promise)) return this.#respond(answer ?? this.#fail(absent(), asked), asked);
    return answer
      .then((found) => found ?? this.#fail(absent(), asked))
      .catch((error) => this.#fail(error, asked))
      .then((late) => this.#respond(late, asked));
  }

  #fail(error: unknown, { request, requestId }: Asked): Answer {
    const { log, notFound, isPrivate } = this.#serving;
    const failure = toFailure(error);
    log.failed(failure, error, request, requestId);
    // What is wrong before the operation is reached is not its failure, so it does not get the operation's kind of answer.
    const toParts = outsideOperation.has(failure.code) ? toProblem : (this.#resource.toFailure ?? toProblem);
    const mayBeKept = !isPrivate && (failure.status === 404 || failure.status === 400);
    const caching = mayBeKept ? cachingFields(notFound) : noStore;
    const parts = toParts(failure, requestId, request);
    return toAnswer({ ...parts, headers: { ...caching, ...failure.headers, ...parts.headers } });
  }

  /** Sends the finished answer in the form that the request asks for. */
  #respond(answer: Answer, asked: Asked): Response | Promise<Response> {
    const { content } = answer;
    const { headers } = asked.request;
    const { status, etag } = content;
    const names = etag === undefined ? null : headers.get("if-none-match");
    if (etag !== undefined && names !== null && matchesEntityTag(etag, names)) {
      return this.#done(toResponse(304, null, answer.headersFor("unchanged"), asked), 304, asked);
    }
    const coding = content.isCompressible ? chooseEncoding(headers.get("accept-encoding")) : "identity";
    const body = content.in(coding);
    if (!(body instanceof Promise)) {
      return this.#done(toResponse(status, body, answer.headersFor(coding), asked), status, asked);
    }
    return body.then((made) => this.#done(toResponse(status, made, answer.headersFor(coding), asked), status, asked));
  }

  /** Counts what goes out, and adds what concerns this one only. */
  #done(response: Response, status: number, { method, begunMs, limits }: Asked): Response {
    const { life, tellsTiming, isPrivate } = this.#serving;
    const seconds = (performance.now() - begunMs) / 1000;
    this.#counter.count(method, status, seconds);
    if (isPrivate) withdrawSharing(response.headers);
    if (life.isDraining) response.headers.set("Connection", "close");
    if (tellsTiming) response.headers.set("Server-Timing", `total;dur=${(seconds * 1000).toFixed(2)}`);
    if (limits !== undefined) {
      for (const [name, value] of Object.entries(limits)) response.headers.set(name, value);
    }
    return response;
  }
}

/** A request, and what is known of it once. */
interface Asked {
  readonly request: BunRequest<string>;
  readonly method: string;
  readonly requestId: string;
  readonly begunMs: number;
  /** What is said of the client's allowance. */
  limits: Fields | undefined;
}

const absent = () => new ServiceError("not_found", "Not Found");

const outsideOperation = new Set<Failure["code"]>(["method_not_allowed", "too_many_requests"]);

/** The server adds the length, and leaves out the body of an answer to `HEAD`. */
function toResponse(status: number, body: Blob | null, headers: Headers, { requestId, method }: Asked): Response {
  // The response copies them: the next one sets its own.
  headers.set("X-Request-Id", requestId);
  const response = new Response(body, { status, headers });
  // The server dates every answer but those to HEAD.
  if (method === "HEAD") response.headers.set("Date", new Date().toUTCString());
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

/** Takes away what lets other sites' pages read a response. */
function withdrawSharing(headers: Headers): void {
  for (const name of [...headers.keys()]) if (name.startsWith("access-control-")) headers.delete(name);
}

/** @throws ServiceError `too_many_requests` */
function takeAllowance(limiter: RateLimiter, asked: Asked, server: Server<undefined>): void {
  const { request } = asked;
  const connected = server.requestIP(request)?.address ?? "";
  const { isAllowed, remaining, resetS } = limiter.take(connected, request.headers.get("x-forwarded-for"));
  asked.limits = {
    "RateLimit-Policy": `"minute";q=${limiter.perMinute};w=60`,
    RateLimit: `"minute";r=${remaining};t=${resetS}`,
  };
  if (isAllowed) return;
  throw new ServiceError("too_many_requests", `This client may ask ${limiter.perMinute} times a minute.`, {
    retryAfterS: resetS,
  });
}

/** Fields that say how long an answer may be kept. */
export const cachingFields = ({ cacheControl, cdnCacheControl }: CachePolicy): Fields => ({
  "Cache-Control": cacheControl,
  "CDN-Cache-Control": cdnCacheControl,
});

/** What the answers of an operation have in common, those from memory above all. */
export const operationTemplate = (policy: CachePolicy) =>
  new Template("application/json", { ...cachingFields(policy), ...varyByEncoding, "Cache-Status": "pds; hit" });

/** Longer names go without a tag of their own. */
const longestTag = 900;

/** Tags for all of a kind, and for one. */
export function purgeTags(kind: string, name?: string): PurgeTags {
  const tag = name === undefined ? "" : `${kind}-${encodeURIComponent(name.toWellFormed())}`;
  const tags = tag === "" || tag.length > longestTag ? [kind] : [kind, tag];
  return { commas: tags.join(","), spaces: tags.join(" ") };
}

export const noStore: Fields = { "Cache-Control": "no-store" };
