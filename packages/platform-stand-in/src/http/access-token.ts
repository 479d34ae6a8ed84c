import type { Components } from "../components.ts";
import { parseObject } from "../json.ts";
import { json, respondWithFaults } from "./responses.ts";

/**
 * The client-credentials grant. Wrong credentials get the status that the platform returns, not 403
 * or a GraphQL error.
 */
export function handleAccessToken(components: Components, request: Request): Promise<Response> {
  return respondWithFaults(components.faults.trigger("AccessToken"), request, 0, () => grant(components, request));
}

async function grant({ access, counters }: Components, request: Request): Promise<Response> {
  const given = await readFields(request);
  if (given.get("grant_type") !== "client_credentials") {
    return reject(400, "unsupported_grant_type", "The grant type is not supported by the authorization server.");
  }
  const app = access.findClient(given.get("client_id") ?? "");
  if (app === undefined) return reject(400, "application_cannot_be_found", "No app has this client id.");
  if (given.get("client_secret") !== app.options.clientSecret) {
    return reject(401, "invalid_client", "Client authentication failed.");
  }
  counters.tokenGrants += 1;
  return json(200, access.grant(app));
}

async function readFields(request: Request): Promise<Map<string, string>> {
  const text = await request.text();
  if (request.headers.get("Content-Type")?.startsWith("application/x-www-form-urlencoded")) {
    return new Map(new URLSearchParams(text));
  }
  return new Map(Object.entries(parseObject(text) ?? {}).map(([name, value]) => [name, String(value)]));
}

function reject(status: number, error: string, description: string): Response {
  return json(status, { error, error_description: description });
}
