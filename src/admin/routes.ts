import type { ResponseParts } from "../cache/response.ts";
import { ServiceError } from "../errors.ts";
import type { Handler, Route, Routes } from "../http/endpoint.ts";
import { type Failure, toProblem } from "../http/errors.ts";
import { hostOf } from "../http/host.ts";
import { pageHandler } from "../http/page-handler.ts";
import type { RenderPage } from "../page.ts";
import { type AccessOptions, createAccess, type ViewerHandler } from "./access.ts";
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
  readonly access: AccessOptions;
}

/** All routes of the admin listener. Only the two probes are open. */
export function adminRoutes({ console, readiness, metrics, access }: AdminContext): Routes {
  const protect = createAccess(access);
  const toPageRoute = (handler: ViewerHandler): Route => ({
    get: protect(handler),
    toFailure: (failure, requestId, request) =>
      acceptsHtml(request) ? console.toFailure(failure, requestId) : toProblem(failure, requestId),
  });
  const pages = Object.entries(console.pages).map(([route, render]) => [
    route,
    toPageRoute((viewer, ...request) => pageHandler(render, hostOf, viewer)(...request)),
  ]);
  return {
    ...Object.fromEntries(pages),
    "/livez": { get: getLiveness, isUnlimited: true },
    "/readyz": { get: readiness, isUnlimited: true },
    "/metrics": { get: protect((_, ...request) => metrics(...request)) },
    "/*": toPageRoute((_, ...request) => getNotFound(...request)),
  };
}

const acceptsHtml = (request: Request) => (request.headers.get("accept") ?? "").includes("text/html");

const getNotFound: Handler = () => {
  throw new ServiceError("not_found", "This page does not exist.");
};
