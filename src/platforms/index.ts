import type { Log } from "../base/log.ts";
import type { Config } from "../config/index.ts";
import type { Platform, SharedPoints } from "./platform.ts";

interface Implementation {
  /** Whether the settings name the platform. Only then is its code loaded. */
  readonly isNamed: (config: Config) => boolean;
  readonly create: (config: Config, log: Log, points?: SharedPoints) => Promise<Platform>;
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
export async function createPlatform(config: Config, log: Log, points?: SharedPoints): Promise<Platform | undefined> {
  return await implementations.find(({ isNamed }) => isNamed(config))?.create(config, log, points);
}
