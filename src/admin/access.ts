import { ServiceError } from "../errors.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Handler } from "../http/endpoint.ts";
import { hostOf, isLocal } from "../http/host.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { ipVersionOf } from "../networks.ts";

/** Wrong tokens per minute and network of clients. */
const maxWrongTokens = 10;

export interface AccessOptions {
  /** Admin token; empty if the listener needs none. */
  readonly token: string;
  /** Address that the listener binds to. */
  readonly boundTo: string;
  /** Other hosts that requests may name. */
  readonly hosts: readonly string[];
  readonly networkOf: (origin: RequestOrigin) => string;
}

/** Returns a function that protects a handler: its requests need one of the hosts, and the token. */
export function createAccess({ token, boundTo, hosts, networkOf }: AccessOptions): (handler: Handler) => Handler {
  const wrongTokens = new RateLimiter(maxWrongTokens);
  const isAllowedHost = allowedHosts(boundTo, hosts);

  const requireToken = (origin: RequestOrigin) => {
    const network = networkOf(origin);
    // The right token as well: a response would tell that it is right.
    if (!wrongTokens.allows(network)) throw tooManyWrongTokens(wrongTokens.take(network).resetS);
    const authorization = origin.request.headers.get("authorization");
    if (authorization !== null && equalsSafely(tokenOf(authorization), token)) return;
    // A browser sends none before it has asked for it.
    if (authorization !== null) wrongTokens.take(network);
    throw new ServiceError("unauthorized", "This page requires the admin token.");
  };

  return (handler) => (request, requestId, nowMs, origin) => {
    const host = hostOf(request);
    if (!isAllowedHost(host)) {
      throw new ServiceError(
        "misdirected",
        `The admin listener does not accept the host ${host}; add it to ADMIN_HOSTS.`,
      );
    }
    if (token !== "") requireToken(origin);
    return handler(request, requestId, nowMs, origin);
  };
}

const tooManyWrongTokens = (retryAfterS: number) =>
  new ServiceError("too_many_requests", "There were too many wrong tokens from this network.", { retryAfterS });

/**
 * Prevents DNS rebinding: a web page could point its own domain at this machine, and its browser
 * would then let it read the responses.
 */
function allowedHosts(boundTo: string, hosts: readonly string[]): (host: string) => boolean {
  const allowed = new Set([...hosts, inUrl(boundTo.toLowerCase())]);
  // Bound to all addresses of the machine. No domain can be pointed at an address in a URL.
  const allowsAddresses = boundTo === "0.0.0.0" || boundTo === "::";
  return (host) =>
    isLocal(host) || allowed.has(host) || (allowsAddresses && ipVersionOf(host.replace(/^\[(.*)\]$/, "$1")) !== 0);
}

/** Only an IPv6 address has colons. */
const inUrl = (host: string) => (host.includes(":") ? `[${host}]` : host);

function tokenOf(authorization: string): string {
  const [scheme = "", value = ""] = authorization.split(" ");
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return "";
  const pair = Buffer.from(value, "base64").toString();
  return pair.slice(pair.indexOf(":") + 1);
}

/** Compares in constant time. */
function equalsSafely(a: string, b: string): boolean {
  const digest = (text: string) => Bun.CryptoHasher.hash("sha256", text);
  return crypto.timingSafeEqual(digest(a), digest(b));
}
