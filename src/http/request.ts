import type { BunRequest } from "bun";
import { ServiceError } from "../errors.ts";

/** A caller's reference that is short and plain enough for a log line. */
const plainReference = /^[\w.:=+/@-]{1,128}$/;

/** The caller's own reference, for the log only: a shared cache may keep the response and give it to others. */
export function clientRequestIdOf(headers: Headers): string | undefined {
  const incoming = headers.get("x-request-id");
  return incoming !== null && plainReference.test(incoming) ? incoming : undefined;
}

/** The path and the query of a request. The rest of its URL comes from the `Host`, which need not be one. */
export const targetOf = ({ url }: Request) => url.replace(/^https?:\/\/[^/?#]*/, "");

/** The path of a request. Where the `Host` is missing or no host, the runtime gives the path only. */
export const pathOf = ({ url }: Request) => url.match(/^(?:https?:\/\/[^/?#]*)?([^?#]*)/)?.[1] || "/";

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
