import { ServiceError } from "../errors.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Handler } from "../http/endpoint.ts";
import { hostOf, isLocal } from "../http/host.ts";
import type { OperatorToken, Viewer } from "../model/operator.ts";
import { ipVersionOf } from "../networks.ts";
import { TokenCheck } from "./token-check.ts";

export interface AccessOptions {
  /** The tokens that are valid at the moment; none if the listener needs none. */
  readonly tokens: () => readonly OperatorToken[];
  /** Address that the listener binds to. */
  readonly boundTo: string;
  /** Other hosts that requests may name. */
  readonly hosts: readonly string[];
  readonly networkOf: (origin: RequestOrigin) => string;
}

/** A handler that knows who sent the request. */
export type ViewerHandler = (viewer: Viewer, ...request: Parameters<Handler>) => ReturnType<Handler>;

/** Anybody may look at a listener without tokens, and nobody may act. */
const anonymous: Viewer = { operator: undefined, role: "view", formToken: undefined };

/** Returns a function that protects a handler: its requests need one of the hosts, and a token. */
export function createAccess({
  tokens,
  boundTo,
  hosts,
  networkOf,
}: AccessOptions): (handler: ViewerHandler) => Handler {
  const check = new TokenCheck(tokens);
  const isAllowedHost = allowedHosts(boundTo, hosts);

  const identify = (origin: RequestOrigin): Viewer => {
    if (!check.isNeeded) return anonymous;
    const network = networkOf(origin);
    check.requireUnlocked(network);
    const authorization = origin.request.headers.get("authorization");
    // A browser sends none before it has asked for it.
    const { token, isBasic } = authorization === null ? {} : parseAuthorization(authorization);
    const found = token === undefined ? undefined : check.find(token, network);
    if (found === undefined) throw new ServiceError("unauthorized", "This page requires a token.");
    // A browser sends a password with every request, also with those that pages of other sites make.
    return { operator: found.name, role: isBasic ? "view" : found.role, formToken: undefined };
  };

  return (handler) => (request, requestId, nowMs, origin) => {
    const host = hostOf(request);
    if (!isAllowedHost(host)) {
      throw new ServiceError(
        "misdirected",
        `The admin listener does not accept the host ${host}; add it to ADMIN_HOSTS.`,
      );
    }
    return handler(identify(origin), request, requestId, nowMs, origin);
  };
}

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

const inUrl = (host: string) => (ipVersionOf(host) === 6 ? `[${host}]` : host);

interface Authorization {
  readonly token?: string;
  readonly isBasic?: boolean;
}

function parseAuthorization(authorization: string): Authorization {
  const [scheme = "", value = ""] = authorization.split(" ");
  if (scheme.toLowerCase() === "bearer") return { token: value };
  if (scheme.toLowerCase() !== "basic") return { token: "" };
  const pair = Buffer.from(value, "base64").toString();
  return { token: pair.slice(pair.indexOf(":") + 1), isBasic: true };
}
