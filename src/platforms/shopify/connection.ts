import type { Config } from "../../config/index.ts";
import type { Log } from "../../log.ts";
import { createClient, type Request } from "./client.ts";
import { apiVersion } from "./queries.ts";
import { grantedToken, staticToken } from "./token.ts";

/** The platform as the settings name it; undefined when they name none. */
export function connectPlatform(config: Config, log: Log): Request | undefined {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret } = config;
  const origin = new URL(config.shopifyApiUrl === "" ? `https://${config.shopDomain}` : config.shopifyApiUrl);
  const url = new URL(origin.pathname === "/" ? `/admin/api/${apiVersion}/graphql.json` : origin, origin).href;
  if (shopifyAccessToken !== "") return createClient({ url, token: staticToken(shopifyAccessToken), log });
  if (shopifyClientId === "") return undefined;
  const grantUrl = new URL("/admin/oauth/access_token", origin).href;
  return createClient({ url, token: grantedToken(grantUrl, shopifyClientId, shopifyClientSecret), log });
}
