import { timingSafeEqual } from "node:crypto";
import { ServiceError } from "../errors.ts";
import type { Handler, Resources } from "./endpoint.ts";
import { getLiveness } from "./health.ts";

export interface AdminContext {
  readonly readiness: Handler;
  readonly metrics: Handler;
  /** Empty: whoever reaches the listener is trusted. */
  readonly token: string;
}

/** What the admin listener answers. Only the two probes are open when there is a token. */
export function adminResources({ readiness, metrics, token }: AdminContext): Resources {
  return {
    "/livez": { get: getLiveness, isProbe: true },
    "/readyz": { get: readiness, isProbe: true },
    "/metrics": { get: guarded(token, metrics) },
    "/*": { get: guarded(token, getNothing) },
  };
}

const getNothing: Handler = () => {
  throw new ServiceError("not_found", "There is nothing at this address.");
};

/** Asks for the token, as bearer token or as the password of basic authentication. */
function guarded(token: string, handler: Handler): Handler {
  return (request, requestId, nowMs) => {
    if (token !== "" && !sameText(givenToken(request.headers.get("authorization") ?? ""), token)) {
      throw new ServiceError("unauthorized", "This address needs the admin token.");
    }
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
