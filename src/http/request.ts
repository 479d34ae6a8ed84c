import type { BunRequest } from "bun";
import { ServiceError } from "../base/errors.ts";

/** Short and plain enough for a log line. */
const loggableId = /^[\w.:=+/@-]{1,128}$/;

/** The client's `X-Request-Id`. Only for the log: a shared cache may send the response to others. */
export function clientRequestIdOf(headers: Headers): string | undefined {
  const incoming = headers.get("x-request-id");
  return incoming !== null && loggableId.test(incoming) ? incoming : undefined;
}

/** Path and query. The rest of the URL comes from the `Host` header, which may be invalid. */
export const targetOf = ({ url }: Request) => url.replace(/^https?:\/\/[^/?#]*/, "");

/** Path without the query. Bun omits the origin when the `Host` header is missing or invalid. */
export const pathOf = ({ url }: Request) => url.match(/^(?:https?:\/\/[^/?#]*)?([^?#]*)/)?.[1] || "/";

/** @throws ServiceError `bad_request` when the percent-encoding is malformed */
export function parameter(request: BunRequest<string>, name: string): string {
  const value = (request.params as Record<string, string>)[name] ?? "";
  // The router inserts U+FFFD where decoding fails, but the client may also have sent it.
  if (value.includes("\uFFFD")) {
    try {
      decodeURIComponent(pathOf(request));
    } catch (cause) {
      throw new ServiceError("bad_request", "The path's percent-encoding is malformed.", { cause });
    }
  }
  return value;
}
