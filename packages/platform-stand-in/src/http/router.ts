import type { Components } from "../components.ts";
import { handleAccessToken } from "./access-token.ts";
import { handleGraphql } from "./graphql.ts";
import { json, respondWithFaults } from "./responses.ts";

const notFound = { errors: "Not Found" };

/** Routes a request to its endpoint; anything else is 404. */
export function handleRequest(
  components: Components,
  request: Request,
  requestId: string,
): Promise<Response> | Response {
  const { pathname } = new URL(request.url);
  const [, version] = /^\/admin\/api\/([^/]+)\/graphql\.json$/.exec(pathname) ?? [];
  if (version !== undefined && request.method === "POST") {
    const served = chooseVersion(version, components.settings.versions);
    return served === undefined ? json(404, notFound) : handleGraphql(components, request, served, requestId);
  }
  if (pathname === "/admin/oauth/access_token" && request.method === "POST")
    return handleAccessToken(components, request);
  const [, file] = /^\/bulk\/([\w.-]+)$/.exec(pathname) ?? [];
  return file !== undefined && request.method === "GET"
    ? handleBulkFile(components, request, file)
    : json(404, notFound);
}

/** Download of a bulk result. As on the platform, it needs no token because its URL is secret. */
function handleBulkFile({ bulk, counters, faults }: Components, request: Request, name: string): Promise<Response> {
  return respondWithFaults(faults.trigger("BulkDownload"), request, 0, async () => {
    const path = bulk.findFile(name);
    if (path === undefined) return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
    counters.bulkDownloads += 1;
    return new Response(Bun.file(path), { headers: { "Content-Type": "application/jsonl" } });
  });
}

/** A retired version falls forward to the oldest supported one; an unknown version is not found. */
function chooseVersion(asked: string, versions: readonly string[]): string | undefined {
  if (asked === "unstable" || versions.includes(asked)) return asked;
  const [oldest] = versions;
  return /^\d{4}-\d{2}$/.test(asked) && oldest !== undefined && asked < oldest ? oldest : undefined;
}
