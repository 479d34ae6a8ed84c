import type { Log } from "../base/log.ts";
import type { Platform, SharedPoints } from "./platform.ts";
import type { ShopifySettings } from "./shopify/settings.ts";

type PlatformSettings = ShopifySettings;

/** The only known platform of the global identifiers that files omit. */
export const platformOfFiles = "shopify";

interface Implementation {
  /** The platform's code is loaded only if its settings are set. */
  readonly isNamed: (settings: PlatformSettings) => boolean;
  readonly create: (settings: PlatformSettings, log: Log, points?: SharedPoints) => Promise<Platform>;
}

const implementations: readonly Implementation[] = [
  {
    isNamed: ({ shopifyAccessToken, shopifyClientId }) => shopifyAccessToken !== "" || shopifyClientId !== "",
    create: async (...context) => (await import("./shopify/index.ts")).createShopify(...context),
  },
];

/**
 * @param points undefined when nothing is read, or by one process only
 * @returns undefined when the settings name no platform
 */
export async function createPlatform(
  settings: PlatformSettings,
  log: Log,
  points?: SharedPoints,
): Promise<Platform | undefined> {
  return await implementations.find(({ isNamed }) => isNamed(settings))?.create(settings, log, points);
}
