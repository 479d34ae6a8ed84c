import { timingSafeEqual } from "node:crypto";
import { type AnswerParts, toAnswer } from "../cache/response.ts";
import { ServiceError } from "../errors.ts";
import type { Handler, Resource, Resources } from "../http/endpoint.ts";
import { type Failure, toProblem } from "../http/errors.ts";
import { hostOf, isLocal } from "../http/host.ts";
import { parameter, targetOf } from "../http/request.ts";
import type { RenderPage } from "../page.ts";
import { getLiveness } from "./health.ts";

/** Pages for people, by route template, and what they see when one fails. */
export interface Pages {
  readonly pages: Readonly<Record<string, RenderPage>>;
  readonly toFailure: (failure: Failure, requestId: string) => AnswerParts;
}

export interface AdminContext {
  readonly console: Pages;
  readonly readiness: Handler;
  readonly metrics: Handler;
  /** Empty: whoever reaches the listener is trusted. */
  readonly token: string;
}

/** What the admin listener answers. Only the two probes are open when there is a token. */
export function adminResources({ console, readiness, metrics, token }: AdminContext): Resources {
  const forPeople = (handler: Handler): Resource => ({
    get: guarded(token, handler),
    toFailure: (failure, requestId, request) =>
      wantsPage(request) ? console.toFailure(failure, requestId) : toProblem(failure, requestId),
  });
  const pages = Object.entries(console.pages).map(([route, render]) => [route, forPeople(pageHandler(render, hostOf))]);
  return {
    ...Object.fromEntries(pages),
    "/livez": { get: getLiveness, isProbe: true },
    "/readyz": { get: readiness, isProbe: true },
    "/metrics": { get: guarded(token, metrics) },
    "/*": forPeople(getNothing),
  };
}

const wantsPage = (request: Request) => (request.headers.get("accept") ?? "").includes("text/html");

/** How long a page may take: it must not hang with the store. */
const pageMs = 20_000;

/** @param toHost the host of the URL that the page is given */
export function pageHandler(render: RenderPage, toHost: (request: Request) => string = () => "localhost"): Handler {
  return async (request) => {
    const url = new URL(`http://${toHost(request)}${targetOf(request)}`);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new ServiceError("unavailable", "The page took too long.")), pageMs);
    try {
      const page = await Promise.race([render({ url, parameter: (name) => parameter(request, name) }), late.promise]);
      return page && toAnswer(page);
    } finally {
      clearTimeout(timer);
    }
  };
}

/**
 * A web page may point its own domain at this machine (DNS rebinding), and its browser then lets it read what is here. A token
 * keeps it out; without one, so does answering to names of this machine only.
 */
function refuseOtherNames(host: string): void {
  if (isLocal(host)) return;
  throw new ServiceError(
    "misdirected",
    "Without ADMIN_TOKEN this listener answers to localhost, 127.0.0.1 and [::1] only.",
  );
}

const getNothing: Handler = () => {
  throw new ServiceError("not_found", "There is nothing at this address.");
};

/** Asks for the token, as bearer token or as the password of basic authentication; where there is none, for a name of this machine. */
function guarded(token: string, handler: Handler): Handler {
  return (request, requestId, nowMs) => {
    if (token !== "" && !sameText(givenToken(request.headers.get("authorization") ?? ""), token)) {
      throw new ServiceError("unauthorized", "This address needs the admin token.");
    }
    const host = hostOf(request);
    if (token === "") refuseOtherNames(host);
    return handler(request, requestId, nowMs);
  };
}

function givenToken(authorization: string): string {
  const [scheme = "", value = ""] = authorization.split(" ");
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return "";
  const pair = Buffer.from(value, "base64").toString();
  return pair.slice(pair.indexOf(":") + 1);
}

/** Takes the same time wherever the texts differ. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string) => Bun.CryptoHasher.hash("sha256", text);
  return timingSafeEqual(digest(a), digest(b));
}
