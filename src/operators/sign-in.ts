import { ServiceError } from "../base/errors.ts";
import { type PreparedResponse, prepareResponse } from "../cache/response.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import { type Handler, noStore } from "../http/endpoint.ts";
import type { Page } from "../http/page.ts";
import { targetOf } from "../http/request.ts";
import type { ViewerHandler } from "./access.ts";
import { readForm, requireFormToken, requireSameOrigin } from "./form.ts";
import type { Sessions } from "./sessions.ts";
import type { TokenCheck } from "./token-check.ts";
import type { OperatorToken } from "./tokens.ts";

export interface SignInContext {
  readonly tokens: TokenCheck;
  readonly sessions: Sessions;
  readonly networkOf: (origin: RequestOrigin) => string;
  /**
   * @param next path to continue with
   * @param problem why the last attempt failed
   */
  readonly page: (next: string, problem?: SignInProblem) => Page;
  readonly note: (operator: string, action: "sign-in" | "sign-out", request: RequestOrigin) => Promise<void>;
}

export interface SignInProblem {
  readonly status: number;
  readonly text: string;
}

/** `GET /sign-in?next=PATH`. */
export function getSignIn({ tokens, page }: SignInContext): Handler {
  return (request) => {
    if (!tokens.isNeeded) return redirect("/");
    return prepareResponse(page(toLocalPath(new URLSearchParams(targetOf(request).split("?")[1]).get("next"))));
  };
}

/** `POST /sign-in`: begins a session with a token. */
export function postSignIn({ tokens, sessions, networkOf, page, note }: SignInContext): Handler {
  return async (request, _nowMs, origin) => {
    requireSameOrigin(request);
    const form = await readForm(request);
    const next = toLocalPath(form.get("next"));
    const token = find(form.get("token") ?? "", networkOf(origin));
    if ("status" in token) return prepareResponse(page(next, token));
    const cookie = await sessions.begin(request, token);
    await note(token.name, "sign-in", origin);
    return redirect(next, { "Set-Cookie": cookie });
  };

  function find(given: string, network: string): OperatorToken | SignInProblem {
    try {
      // A pasted token often has a space or a line break.
      return tokens.findToSignIn(given.trim(), network) ?? { status: 401, text: "This token is not valid." };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "too_many_requests") throw error;
      return { status: 429, text: `${error.message} Try again in a minute.` };
    }
  }
}

/** `POST /sign-out`: ends a session. */
export function postSignOut({ sessions, note }: SignInContext): ViewerHandler {
  return async (viewer, request, _nowMs, origin) => {
    if (viewer.operator === undefined || viewer.formToken === undefined) {
      throw new ServiceError("conflict", "There is no session to end.");
    }
    requireSameOrigin(request);
    requireFormToken(viewer, await readForm(request));
    const cookie = await sessions.end(request);
    await note(viewer.operator, "sign-out", origin);
    return redirect("/sign-in", { "Set-Cookie": cookie });
  };
}

export const redirect = (location: string, headers: Readonly<Record<string, string>> = {}): PreparedResponse =>
  prepareResponse({
    status: 303,
    type: "text/plain; charset=utf-8",
    body: "",
    headers: { ...noStore, Location: location, ...headers },
  });

/** A path of this listener, whatever URL a link to the sign-in page has. */
export function toLocalPath(next: string | null): string {
  const url = URL.parse(next ?? "/", "http://localhost");
  if (url === null || url.origin !== "http://localhost") return "/";
  const path = url.pathname + url.search;
  // Two slashes begin the name of another host.
  return /^\/(?![/\\])/.test(path) && path !== "/sign-in" ? path : "/";
}
