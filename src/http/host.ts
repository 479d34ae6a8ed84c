import { isIPv4 } from "node:net";
import { ServiceError } from "../errors.ts";

/** A name or an address, an IPv6 address in brackets, with or without a port. */
const hostField = /^([\da-z._-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The host that a request names, in lower case and without its port. The field itself is read, not the request's URL: the
 * runtime decodes `%6cocalhost` and takes the first of several fields, and where it cannot read a host it gives a bare path.
 * @throws ServiceError `bad_request` when there is not exactly one host
 */
export function hostOf({ headers }: Request): string {
  const [field, host] = headers.get("host")?.match(hostField) ?? [];
  if (host !== undefined && URL.canParse(`http://${field}`)) return host.toLowerCase();
  throw new ServiceError("bad_request", "The Host field must be one host, with or without a port.");
}

/** Whether a host, as {@link hostOf} gives it, is this machine in every network. */
export const isLocal = (host: string) =>
  host === "localhost" || host === "[::1]" || (isIPv4(host) && host.startsWith("127."));
