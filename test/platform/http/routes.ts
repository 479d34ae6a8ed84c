import type { Parts } from "../parts.ts";
import { answerAccessToken } from "./access-token.ts";
import { json } from "./answers.ts";
import { answerBulkFile } from "./bulk-file.ts";
import { answerGraphql } from "./graphql.ts";

const notFound = { errors: "Not Found" };

/** Everything a shop answers; undefined for what is not of the platform. */
export function answer(parts: Parts, request: Request, requestId: string): Promise<Response> | Response {
  const { pathname } = new URL(request.url);
  const [, version] = /^\/admin\/api\/([^/]+)\/graphql\.json$/.exec(pathname) ?? [];
  if (version !== undefined && request.method === "POST") {
    const served = chooseVersion(version, parts.settings.versions);
    return served === undefined ? json(404, notFound) : answerGraphql(parts, request, served, requestId);
  }
  if (pathname === "/admin/oauth/access_token" && request.method === "POST") return answerAccessToken(parts, request);
  const [, file] = /^\/bulk\/([\w.-]+)$/.exec(pathname) ?? [];
  return file !== undefined && request.method === "GET" ? answerBulkFile(parts, request, file) : json(404, notFound);
}

/** A version past its time falls forward to the oldest that is left; one that never was is not found. */
function chooseVersion(asked: string, versions: readonly string[]): string | undefined {
  if (asked === "unstable" || versions.includes(asked)) return asked;
  const [oldest] = versions;
  return /^\d{4}-\d{2}$/.test(asked) && oldest !== undefined && asked < oldest ? oldest : undefined;
}
