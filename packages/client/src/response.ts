import type { CachedResponse } from "./cache.ts";
import { type ErrorCode, ProductDataError } from "./errors.ts";
import { parseRetryAfter } from "./retry.ts";
import type { Fetch } from "./types.ts";

/** A response of any status. */
export interface ServiceResponse {
  readonly status: number;
  readonly text: string;
  readonly entityTag: string | null;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Sends one request. If `cached` is given, the request is conditional, and a 304 becomes the cached
 * response.
 * @throws ProductDataError `network`, or the signal's reason
 */
export async function sendRequest(
  fetch: Fetch,
  url: string,
  signal: AbortSignal,
  cached: CachedResponse | undefined,
): Promise<ServiceResponse> {
  try {
    const response = await fetch(url, { signal, headers: cached ? { "If-None-Match": cached.entityTag } : {} });
    const { status, headers } = response;
    const text = await response.text();
    return {
      status,
      text,
      entityTag: headers.get("ETag"),
      requestId: headers.get("X-Request-Id") ?? undefined,
      retryAfterMs: parseRetryAfter(headers.get("Retry-After"), Date.now()),
      ...(cached && status === 304 && { status: 200, ...cached }),
    };
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new ProductDataError("network", "The request failed: could not get a response.", { cause });
  }
}

/**
 * The operation's fields, or an error: `error` from the operation, `detail` in a problem document
 * (RFC 9457).
 */
type Body = Readonly<Record<string, unknown>> | null;

const codes: Readonly<Record<number, ErrorCode>> = {
  400: "bad_request",
  404: "not_found",
  429: "unavailable",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** Whether a body has the shape of the operation's response. */
export type BodyCheck<Body> = (body: unknown) => body is Body;

/**
 * The body of a successful response. One with an error message instead means "not found", even with
 * status 200.
 * @throws ProductDataError for any other response
 */
export function parseBody<Expected>(
  response: ServiceResponse,
  check: BodyCheck<Expected>,
  parse: (text: string) => unknown,
): Expected {
  const { status, text } = response;
  let body: Body | undefined;
  let cause: unknown;
  try {
    body = parse(text) as Body;
  } catch (error) {
    cause = error;
  }
  if (status === 200 && check(body)) return body;
  const reason = [body?.error, body?.detail].find((value) => typeof value === "string");
  const code = codes[status === 200 && reason ? 404 : status] ?? "unexpected";
  const message =
    reason ?? `The service responded with status ${status}${status === 200 ? " but unexpected content" : ""}.`;
  throw new ProductDataError(code, message, { ...response, cause });
}
