import { ServiceError } from "../base/errors.ts";
import type { ResponseParts } from "../cache/response.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Handler, Route, Routes } from "../http/endpoint.ts";
import { type Failure, toProblem } from "../http/errors.ts";
import { getLiveness } from "../http/health.ts";
import { hostOf } from "../http/host.ts";
import type { Page, RenderPage } from "../http/page.ts";
import { pageHandler } from "../http/page-handler.ts";
import { targetOf } from "../http/request.ts";
import { type AccessOptions, createAccess, type ViewerHandler } from "./access.ts";
import { type OperatorActions, postAction } from "./act.ts";
import type { Sessions } from "./sessions.ts";
import { getSignIn, postSignIn, postSignOut, type SignInContext, type SignInProblem } from "./sign-in.ts";

export interface ConsolePages {
  readonly pages: Readonly<Record<string, RenderPage>>;
  /** Scripts and style sheets of the pages, including the one to sign in. */
  readonly files: Readonly<Record<string, RenderPage>>;
  readonly signIn: (next: string, problem?: SignInProblem) => Page;
  /** @param next path to continue with after signing in */
  readonly toFailure: (failure: Failure, requestId: string, next: string) => ResponseParts;
}

export interface AdminContext {
  readonly console: ConsolePages;
  readonly readiness: Handler;
  readonly metrics: Handler;
  readonly access: AccessOptions & {
    readonly sessions: Sessions;
    readonly addressOf: (origin: RequestOrigin) => string;
  };
  readonly actions: OperatorActions;
  readonly note: SignInContext["note"];
}

/** Only the probes, and whatever is needed to sign in, are open. */
export function adminRoutes({ console, readiness, metrics, access, actions, note }: AdminContext): Routes {
  const { checkHost, protect } = createAccess(access);
  const toFailure: Route["toFailure"] = (failure, requestId, request) =>
    acceptsHtml(request)
      ? console.toFailure(failure, requestId, request.method === "POST" ? "/" : targetOf(request))
      : toProblem(failure, requestId);
  const toPageRoute = (handler: ViewerHandler): Route => ({ get: protect(handler), toFailure });
  const toPage = (render: RenderPage) =>
    toPageRoute((viewer, ...request) => pageHandler(render, hostOf, viewer)(...request));
  const signIn = { ...access, page: console.signIn, note };
  return {
    ...mapValues(console.pages, toPage),
    ...mapValues(console.files, (render) => ({ get: checkHost(pageHandler(render, hostOf)), toFailure })),
    "/sign-in": { get: checkHost(getSignIn(signIn)), post: checkHost(postSignIn(signIn)), toFailure },
    "/sign-out": { post: protect(postSignOut(signIn)), toFailure },
    "/actions/:action": {
      ...(console.pages["/actions/:action"] && toPage(console.pages["/actions/:action"])),
      post: protect(postAction(actions, access.addressOf)),
      toFailure,
    },
    "/livez": { get: getLiveness, isUnlimited: true },
    "/readyz": { get: readiness, isUnlimited: true },
    "/metrics": { get: protect((_, ...request) => metrics(...request)) },
    "/*": toPageRoute((_, ...request) => getNotFound(...request)),
  };
}

const mapValues = <From, To>(values: Readonly<Record<string, From>>, toValue: (value: From) => To) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, toValue(value)]));

const acceptsHtml = (request: Request) => (request.headers.get("accept") ?? "").includes("text/html");

const getNotFound: Handler = () => {
  throw new ServiceError("not_found", "This page does not exist.");
};
