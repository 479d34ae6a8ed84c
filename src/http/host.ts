import { ServiceError } from "../errors.ts";

/** A host name, an IPv4 address, or an IPv6 address in brackets, with an optional port. */
const hostHeader = /^([\da-z._-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The request's host, in lower case and without the port. Reads the header instead of the request's
 * URL: Bun decodes `%6cocalhost`, takes the first of several headers, and returns a bare path when
 * it cannot parse the host.
 * @throws ServiceError `bad_request` unless the header names exactly one host
 */
export function hostOf({ headers }: Request): string {
  const [field, host] = headers.get("host")?.match(hostHeader) ?? [];
  if (host !== undefined && URL.canParse(`http://${field}`)) return host.toLowerCase();
  throw new ServiceError("bad_request", "The Host header must name exactly one host, with an optional port.");
}

/** Whether a host from {@link hostOf} always means this machine. */
export const isLocal = (host: string) => host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
