import type { Log } from "../base/log.ts";
import type { Platform, SharedPoints } from "./platform.ts";
import type { ShopifySettings } from "./shopify/settings.ts";

/** The settings of all platforms. */
type PlatformSettings = ShopifySettings;

/** The platform of global identifiers that files of products leave out: the only one that is known. */
export const platformOfFiles = "shopify";

interface Implementation {
  /** Whether the settings name the platform. Only then is its code loaded. */
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
 * Creates the platform that the settings name; undefined when they name none.
 * @param points undefined when nothing is read, or by one process only
 */
export async function createPlatform(
  settings: PlatformSettings,
  log: Log,
  points?: SharedPoints,
): Promise<Platform | undefined> {
  return await implementations.find(({ isNamed }) => isNamed(settings))?.create(settings, log, points);
}
