import type { z } from "zod";
import { hideCredentials } from "../base/credentials.ts";
import { type ErrorCode, ServiceError } from "../base/errors.ts";
import type { ResponseParts } from "../cache/response.ts";
import type { problemSchema } from "../contract/problem.ts";
import { isDatabaseError } from "../database/index.ts";

const statuses: Record<ErrorCode | "internal", number> = {
  bad_request: 400,
  invalid_host: 400,
  invalid_id: 400,
  invalid_input: 400,
  unauthorized: 401,
  bad_signature: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  misdirected: 421,
  too_many_requests: 429,
  internal: 500,
  invalid_setting: 500,
  unavailable: 503,
};

const titles: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  412: "Precondition Failed",
  413: "Content Too Large",
  421: "Misdirected Request",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** From 2 to 6 seconds, so that clients that were rejected together do not return together. */
const chooseRetryAfter = (random: number) => 2 + Math.floor(random * 5);

export interface Failure {
  readonly code: ErrorCode | "internal";
  readonly status: number;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The public view of an error: only the message of a {@link ServiceError} is shown. */
export function toFailure(error: unknown, random = Math.random()): Failure {
  const { code, detail } = describe(error);
  const { retryAfterS, ageS } = error instanceof ServiceError ? error : {};
  const delayS = retryAfterS ?? (code === "unavailable" ? chooseRetryAfter(random) : undefined);
  return {
    code,
    status: statuses[code],
    detail,
    headers: {
      ...headersOf[code],
      ...(delayS !== undefined && { "Retry-After": `${delayS}` }),
      ...(ageS !== undefined && { Age: `${ageS}` }),
    },
  };
}

const headersOf: Partial<Record<ErrorCode | "internal", Record<string, string>>> = {
  unauthorized: { "WWW-Authenticate": 'Basic realm="Product Data Service"' },
  bad_signature: { "WWW-Authenticate": "Signature" },
};

function describe(error: unknown): { code: ErrorCode | "internal"; detail: string } {
  if (error instanceof ServiceError) return { code: error.code, detail: hideCredentials(error.message) };
  if (isDatabaseError(error)) return { code: "unavailable", detail: "The data store is unavailable. Try again later." };
  return { code: "internal", detail: "An internal error occurred." };
}

export function toProblem({ status, detail }: Failure, requestId: string): ResponseParts {
  const problem: z.infer<typeof problemSchema> = {
    type: "about:blank",
    title: titles[status] ?? "Error",
    status,
    detail,
    request_id: requestId,
  };
  return { status, type: "application/problem+json", body: JSON.stringify(problem) };
}
