import type { Log } from "../base/log.ts";
import type { Platform, SharedPoints } from "./platform.ts";
import type { ShopifySettings } from "./shopify/settings.ts";

/** The only known platform of the global identifiers that files omit. */
export const platformOfFiles = "shopify";

/**
 * @param points undefined when nothing is read, or by one process only
 * @returns undefined when the settings name no platform
 */
export async function createPlatform(
  settings: ShopifySettings,
  log: Log,
  points?: SharedPoints,
): Promise<Platform | undefined> {
  if (settings.shopifyAccessToken === "" && settings.shopifyClientId === "") return undefined;
  // A platform's code is loaded only if its settings are set.
  const { createShopify } = await import("./shopify/index.ts");
  return createShopify(settings, log, points);
}
