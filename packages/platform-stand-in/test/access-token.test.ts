import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { dig, digText, sendQuery } from "./client.ts";

let now = Date.UTC(2026, 10, 21);
const platform = startStandIn({ products: 1, expiresIn: 60, now: () => now });
afterAll(() => platform.stop());
const credentials = {
  client_id: "stand-in-client",
  client_secret: "stand-in-secret",
  grant_type: "client_credentials",
};

async function grant(fields: Record<string, string>, asForm = false): Promise<{ status: number; body: unknown }> {
  const response = await fetch(platform.accessTokenUrl, {
    method: "POST",
    ...(asForm
      ? { body: new URLSearchParams(fields) }
      : { body: JSON.stringify(fields), headers: { "Content-Type": "application/json" } }),
  });
  return { status: response.status, body: await response.json() };
}

describe("the client-credentials grant", () => {
  for (const asForm of [true, false]) {
    test(`returns a token that works until it expires, requested with ${asForm ? "a form" : "JSON"}`, async () => {
      const { status, body } = await grant(credentials, asForm);
      expect(status).toBe(200);
      expect(body).toEqual({ access_token: expect.any(String), scope: "read_products", expires_in: 60 });
      const token = digText(body, "access_token");
      expect((await sendQuery(platform, "{ shop { name } }", {}, { token })).status).toBe(200);
      now += 60_000;
      expect((await sendQuery(platform, "{ shop { name } }", {}, { token })).status).toBe(401);
    });
  }

  test.each<[name: string, changes: object, status: number, error: string]>([
    ["an unknown client", { client_id: "nobody" }, 400, "application_cannot_be_found"],
    ["a wrong secret", { client_secret: "guess" }, 401, "invalid_client"],
    ["another grant type", { grant_type: "password" }, 400, "unsupported_grant_type"],
  ])("rejects %s", async (_, changes, status, error) => {
    const answer = await grant({ ...credentials, ...changes });
    expect(answer.status).toBe(status);
    expect(dig(answer.body, "error")).toBe(error);
  });
});
