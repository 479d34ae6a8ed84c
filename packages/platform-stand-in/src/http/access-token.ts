import type { Components } from "../components.ts";
import { parseObject } from "../json.ts";
import { damageBody, earlyResponse, json } from "./responses.ts";

/**
 * The client-credentials grant. Wrong credentials get the status that the platform returns, not 403
 * or a GraphQL error.
 */
export async function handleAccessToken(components: Components, request: Request): Promise<Response> {
  const effect = components.faults.trigger("AccessToken").find(({ kind }) => kind !== "slow");
  const early = earlyResponse(effect, request);
  if (early !== undefined) return early;

  const given = await readFields(request);
  if (given.get("grant_type") !== "client_credentials") {
    return reject(400, "unsupported_grant_type", "The grant type is not supported by the authorization server.");
  }
  const app = components.access.findClient(given.get("client_id") ?? "");
  if (app === undefined) return reject(400, "application_cannot_be_found", "No app has this client id.");
  if (given.get("client_secret") !== app.options.clientSecret) {
    return reject(401, "invalid_client", "Client authentication failed.");
  }
  components.counters.tokenGrants += 1;
  return damageBody(effect, json(200, components.access.grant(app)));
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
