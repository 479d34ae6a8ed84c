import { parseObject } from "../json.ts";
import type { Parts } from "../parts.ts";
import { answerBeforehand, json, mangle } from "./answers.ts";

/** The client-credentials grant. Wrong credentials answer as the platform does: not 403, and not as a GraphQL error. */
export async function answerAccessToken(parts: Parts, request: Request): Promise<Response> {
  const effect = parts.faults.draw("AccessToken").find(({ kind }) => kind !== "slow");
  const beforehand = answerBeforehand(effect, request);
  if (beforehand !== undefined) return beforehand;

  const given = await readFields(request);
  if (given.get("grant_type") !== "client_credentials") {
    return refuse(400, "unsupported_grant_type", "The grant type is not supported by the authorization server.");
  }
  const app = parts.access.findClient(given.get("client_id") ?? "");
  if (app === undefined) return refuse(400, "application_cannot_be_found", "No app has this client id.");
  if (given.get("client_secret") !== app.options.clientSecret) {
    return refuse(401, "invalid_client", "Client authentication failed.");
  }
  parts.counters.tokenGrants += 1;
  return mangle(effect, json(200, parts.access.grant(app)));
}

async function readFields(request: Request): Promise<Map<string, string>> {
  const text = await request.text();
  if (request.headers.get("Content-Type")?.startsWith("application/x-www-form-urlencoded")) {
    return new Map(new URLSearchParams(text));
  }
  return new Map(Object.entries(parseObject(text) ?? {}).map(([name, value]) => [name, String(value)]));
}

function refuse(status: number, error: string, description: string): Response {
  return json(status, { error, error_description: description });
}
