import { z } from "zod";
import { PlatformError } from "./retry.ts";

export interface AccessToken {
  get(signal: AbortSignal): Promise<string>;
  /** Forgets a token that was refused. @returns whether another can be had */
  renew(refused: string): boolean;
}

/** An app's own token, which never changes. */
export function staticToken(token: string): AccessToken {
  return { get: async () => token, renew: () => false };
}

const grantSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });

/** A token is renewed when a twentieth of its life is left: over an hour of a day. */
const lastPart = 0.05;

/** Tokens by the client-credentials grant, one at a time, renewed before they end. */
export function grantedToken(url: string, clientId: string, clientSecret: string): AccessToken {
  let current: { token: string; renewAtMs: number } | undefined;
  let asking: Promise<string> | undefined;

  const ask = async (): Promise<string> => {
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" }),
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(15_000),
      // The secret goes where it was meant to go, and nowhere else.
      redirect: "manual",
    });
    const { data } = grantSchema.safeParse(await response.json().catch(() => undefined));
    if (!response.ok || data === undefined) {
      // An answer 200 without a token is a fault like any other of a server's.
      throw new PlatformError("AccessToken", { kind: "grant", status: response.ok ? 502 : response.status });
    }
    current = { token: data.access_token, renewAtMs: Date.now() + data.expires_in * 1000 * (1 - lastPart) };
    return data.access_token;
  };

  return {
    get: async (signal) => {
      if (current !== undefined && Date.now() < current.renewAtMs) return current.token;
      // The one who waits may leave; the asking goes on for the others.
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return await Promise.race([asking, aborted(signal)]);
    },
    renew: (refused) => {
      if (current?.token === refused) current = undefined;
      return true;
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
