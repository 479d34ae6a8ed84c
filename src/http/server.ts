import type { BunRequest, Server } from "bun";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Answer } from "./answer.ts";
import { allowedMethods, type Failure, toFailure, toProblem } from "./errors.ts";

export type Handler = (request: BunRequest<string>, requestId: string) => Answer | Promise<Answer>;

/** Makes a failure the operation's own kind of answer. */
export type FailureAnswer = (failure: Failure, requestId: string, request: BunRequest<string>) => Answer;

type Endpoint = (request: BunRequest<string>) => Promise<Response>;

export type Routes = Readonly<Record<string, Endpoint>>;

/** An incoming reference that can stand in a header, a log line and a message as it is. */
const saneReference = /^[\w.:=+/@-]{1,128}$/;

function requestIdOf(request: Request): string {
  const incoming = request.headers.get("x-request-id");
  return incoming !== null && saneReference.test(incoming) ? incoming : crypto.randomUUID();
}

/** A read-only resource: `GET` and `HEAD` by the handler, `OPTIONS` for CORS, anything else refused. */
export function endpoint(log: Log, handler: Handler, toAnswer: FailureAnswer = toProblem): Endpoint {
  return async (request) => {
    const requestId = requestIdOf(request);
    if (request.method === "OPTIONS") return preflight(requestId);
    try {
      if (request.method !== "GET" && request.method !== "HEAD") {
        throw new ServiceError("method_not_allowed", `This address answers ${allowedMethods}, not ${request.method}.`);
      }
      return toResponse(await handler(request, requestId), request, requestId);
    } catch (error) {
      const failure = toFailure(error);
      logFailure(log, failure, error, request, requestId);
      // A wrong method is not the operation's failure, so it does not get the operation's kind of answer.
      const answer = failure.code === "method_not_allowed" ? toProblem : toAnswer;
      return toResponse(answer(failure, requestId, request), request, requestId);
    }
  };
}

/** The server adds the length, and leaves out the body of an answer to `HEAD`. */
function toResponse({ status, type, body, headers }: Answer, request: Request, requestId: string): Response {
  return new Response(body, {
    status,
    headers: {
      "Content-Type": type,
      "X-Request-Id": requestId,
      "X-Content-Type-Options": "nosniff",
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Expose-Headers": "X-Request-Id, Retry-After",
      // The server dates every answer but those to HEAD.
      ...(request.method === "HEAD" && { Date: new Date().toUTCString() }),
      ...headers,
    },
  });
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

function logFailure(log: Log, failure: Failure, error: unknown, request: Request, requestId: string): void {
  const { status, detail } = failure;
  const about = { requestId, method: request.method, path: pathOf(request).slice(0, longestLoggedPath), status };
  if (status < 500) log.info(about, detail);
  else if (error instanceof ServiceError) log.warn({ ...about, cause: (error.cause as Error)?.message }, detail);
  else log.error({ ...about, err: error }, detail);
}

const pathOf = (request: Request) => new URL(request.url).pathname;

const longestLoggedPath = 500;

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

/** @throws ServiceError `invalid_setting` when the address cannot be bound. */
export function listen(routes: Routes, host: string, port: number, log: Log): Listener {
  const unknown = endpoint(log, () => {
    throw new ServiceError("not_found", "There is nothing at this address; /docs lists what there is.");
  });
  let server: Server<undefined>;
  try {
    server = Bun.serve({
      hostname: host,
      port,
      routes,
      // Every answer is to a request without a body.
      maxRequestBodySize: 64 * 1024,
      development: false,
      fetch: (request) => unknown(request as BunRequest<string>),
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
