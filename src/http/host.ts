import { ServiceError } from "../base/errors.ts";

/** A host name, an IPv4 address, or a bracketed IPv6 address, with an optional port. */
const hostHeader = /^([\da-z._-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The runtime accepts any `Host`, and joins several with commas.
 * @throws ServiceError `invalid_host` unless there is exactly one valid host, or, in HTTP/1.0, none
 */
export function requireValidHost({ headers }: Request): void {
  const field = headers.get("host");
  if (field !== null && !hostHeader.test(field)) throw invalidHost();
}

/**
 * Lower case, without the port. Reads the header instead of the request's URL: Bun decodes
 * `%6cocalhost`, takes the first of several headers, and returns a bare path when it cannot parse
 * the host.
 * @throws ServiceError `invalid_host` unless the header names exactly one host
 */
export function hostOf({ headers }: Request): string {
  const [field, host] = headers.get("host")?.match(hostHeader) ?? [];
  if (host !== undefined && URL.canParse(`http://${field}`)) return host.toLowerCase();
  throw invalidHost();
}

const invalidHost = () =>
  new ServiceError("invalid_host", "The Host header must name exactly one host, with an optional port.");

/** Whether a host from {@link hostOf} always means this machine. */
export const isLocal = (host: string) => host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
