import { z } from "zod";
import { readJson } from "../../base/body.ts";
import { createFetch } from "../../base/outgoing.ts";
import { untilAborted } from "../../base/time.ts";
import { ShopifyError } from "./retry.ts";

export interface AccessToken {
  get(signal: AbortSignal): Promise<string>;
  /** Discards a token that Shopify rejected. @returns whether a new one can be requested */
  renew(rejected: string): boolean;
}

export function staticToken(token: string): AccessToken {
  return { get: async () => token, renew: () => false };
}

const grantSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });

/** A token is renewed in the last 5 % of its lifetime: over an hour of a day. */
const renewalShare = 0.05;

/** Tokens from the client-credentials grant, renewed before they expire. */
export function grantedToken(url: string, clientId: string, clientSecret: string, fetch = createFetch()): AccessToken {
  let current: { token: string; renewAtMs: number } | undefined;
  let pending: Promise<string> | undefined;

  const requestToken = async (): Promise<string> => {
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" }),
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(15_000),
      // A redirect must not carry the secret to another host.
      redirect: "manual",
    });
    const { data } = grantSchema.safeParse(await readJson(response, 1).catch(() => undefined));
    if (!response.ok || data === undefined) {
      // Status 200 without a token is a server error, so it is retried.
      throw new ShopifyError("AccessToken", { kind: "grant", status: response.ok ? 502 : response.status });
    }
    current = { token: data.access_token, renewAtMs: Date.now() + data.expires_in * 1000 * (1 - renewalShare) };
    return data.access_token;
  };

  return {
    get: async (signal) => {
      if (current !== undefined && Date.now() < current.renewAtMs) return current.token;
      // Aborting ends only this wait: other callers share the pending request.
      pending ??= requestToken().finally(() => {
        pending = undefined;
      });
      return await untilAborted(pending, signal);
    },
    renew: (rejected) => {
      if (current?.token === rejected) current = undefined;
      return true;
    },
  };
}
