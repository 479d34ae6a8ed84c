import { ServiceError } from "../base/errors.ts";
import { ipVersionOf } from "../base/networks.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Handler } from "../http/endpoint.ts";
import { hostOf, isLocal } from "../http/host.ts";
import type { Viewer } from "../http/page.ts";
import { limitTime } from "../http/page-handler.ts";
import type { Sessions } from "./sessions.ts";
import type { TokenCheck } from "./token-check.ts";

export interface AccessOptions {
  readonly tokens: TokenCheck;
  readonly sessions: Pick<Sessions, "find">;
  /** The viewer of a listener without tokens. */
  readonly everybody: Viewer;
  readonly boundTo: string;
  /** Other hosts that requests may name. */
  readonly hosts: readonly string[];
  readonly networkOf: (origin: RequestOrigin) => string;
}

/** A handler that knows who sent the request. */
export type ViewerHandler = (viewer: Viewer, ...request: Parameters<Handler>) => ReturnType<Handler>;

export interface Access {
  readonly checkHost: (handler: Handler) => Handler;
  /** Requests need one of the hosts, and a session or a token. */
  readonly protect: (handler: ViewerHandler) => Handler;
}

/** Without tokens, everyone may look, and no one may act. */
export const anonymous: Viewer = { operator: undefined, role: "view", formToken: undefined };

export function createAccess({ tokens, sessions, boundTo, hosts, networkOf, everybody }: AccessOptions): Access {
  const isAllowedHost = allowedHosts(boundTo, hosts);

  const checkHost =
    (handler: Handler): Handler =>
    (request, ...rest) => {
      const host = hostOf(request);
      if (isAllowedHost(host)) return handler(request, ...rest);
      throw new ServiceError(
        "misdirected",
        `The admin listener does not accept the host ${host}; add it to ADMIN_HOSTS.`,
      );
    };

  const identify = (origin: RequestOrigin): Viewer => {
    const network = networkOf(origin);
    const authorization = origin.request.headers.get("authorization");
    // A browser sends none until it is asked.
    const { token, isBasic } = authorization === null ? {} : parseAuthorization(authorization);
    if (token === undefined) tokens.requireUnlocked(network);
    const found = token === undefined ? undefined : tokens.find(token, network);
    if (found === undefined) throw new ServiceError("unauthorized", "This page requires a token.");
    // Browsers send a password with every request, even those from pages of other sites.
    return { operator: found.name, role: isBasic ? "view" : found.role, formToken: undefined };
  };

  const protect = (handler: ViewerHandler) =>
    checkHost((request, nowMs, origin) => {
      const handleFor = (viewer: Viewer) => handler(viewer, request, nowMs, origin);
      if (!tokens.isNeeded) return handleFor(everybody);
      // Also from a locked network, whose other clients must not lock out operators who are signed
      // in.
      const session = sessions.find(request);
      if (session === undefined) return handleFor(identify(origin));
      return limitTime(session).then((viewer) => handleFor(viewer ?? identify(origin)));
    });

  return { checkHost, protect };
}

/**
 * Prevents DNS rebinding: a web page could point its own domain at this machine, and its browser
 * would then let it read the responses.
 */
function allowedHosts(boundTo: string, hosts: readonly string[]): (host: string) => boolean {
  const allowed = new Set([...hosts, inUrl(boundTo.toLowerCase())]);
  // Bound to all addresses. No DNS rebinding is possible with an address in the URL.
  const allowsAddresses = boundTo === "0.0.0.0" || boundTo === "::";
  return (host) =>
    isLocal(host) || allowed.has(host) || (allowsAddresses && ipVersionOf(host.replace(/^\[(.*)\]$/, "$1")) !== 0);
}

/** Only an IPv6 address has colons. */
const inUrl = (host: string) => (host.includes(":") ? `[${host}]` : host);

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
