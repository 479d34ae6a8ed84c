import type { BunRequest } from "bun";
import { ServiceError } from "../errors.ts";

/** An incoming reference that can stand in a header, a log line and a message as it is. */
const saneReference = /^[\w.:=+/@-]{1,128}$/;

/** What a request is referred to by: what the caller calls it, when that is sane, or a name of its own. */
export function requestIdOf(headers: Headers): string {
  const incoming = headers.get("x-request-id");
  return incoming !== null && saneReference.test(incoming) ? incoming : crypto.randomUUID();
}

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
