import type { ResponseParts } from "../cache/response.ts";
import { ServiceError } from "../errors.ts";
import type { Handler, Route, Routes } from "../http/endpoint.ts";
import { type Failure, toProblem } from "../http/errors.ts";
import { hostOf, isLocal } from "../http/host.ts";
import { pageHandler } from "../http/page-handler.ts";
import type { RenderPage } from "../page.ts";
import { getLiveness } from "./health.ts";

export interface ConsolePages {
  /** By route template. */
  readonly pages: Readonly<Record<string, RenderPage>>;
  readonly toFailure: (failure: Failure, requestId: string) => ResponseParts;
}

export interface AdminContext {
  readonly console: ConsolePages;
  readonly readiness: Handler;
  readonly metrics: Handler;
  /** Admin token; empty if the listener needs none. */
  readonly token: string;
}

/** All routes of the admin listener. With a token, only the two probes are open. */
export function adminRoutes({ console, readiness, metrics, token }: AdminContext): Routes {
  const toPageRoute = (handler: Handler): Route => ({
    get: requireAccess(token, handler),
    toFailure: (failure, requestId, request) =>
      acceptsHtml(request) ? console.toFailure(failure, requestId) : toProblem(failure, requestId),
  });
  const pages = Object.entries(console.pages).map(([route, render]) => [
    route,
    toPageRoute(pageHandler(render, hostOf)),
  ]);
  return {
    ...Object.fromEntries(pages),
    "/livez": { get: getLiveness, isUnlimited: true },
    "/readyz": { get: readiness, isUnlimited: true },
    "/metrics": { get: requireAccess(token, metrics) },
    "/*": toPageRoute(getNotFound),
  };
}

const acceptsHtml = (request: Request) => (request.headers.get("accept") ?? "").includes("text/html");

/**
 * Prevents DNS rebinding: a web page could point its own domain at this machine, and its browser
 * would then let it read the responses. Without a token, only names of this machine are accepted.
 */
function requireLocalHost(host: string): void {
  if (isLocal(host)) return;
  throw new ServiceError(
    "misdirected",
    "Without ADMIN_TOKEN, the admin listener accepts only the hosts localhost, 127.0.0.1, and [::1].",
  );
}

const getNotFound: Handler = () => {
  throw new ServiceError("not_found", "This page does not exist.");
};

/**
 * Requires the token as a bearer token or basic-authentication password; without a token, a local
 * host name.
 */
function requireAccess(token: string, handler: Handler): Handler {
  return (request, requestId, nowMs, origin) => {
    if (token !== "" && !equalsSafely(tokenOf(request.headers.get("authorization") ?? ""), token)) {
      throw new ServiceError("unauthorized", "This page requires the admin token.");
    }
    const host = hostOf(request);
    if (token === "") requireLocalHost(host);
    return handler(request, requestId, nowMs, origin);
  };
}

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
