import type { Config } from "../config/index.ts";
import type { Log } from "../log.ts";
import type { Platform, SharedPoints } from "./platform.ts";
import { createShopify } from "./shopify/index.ts";

/** Each returns undefined when the settings do not name its platform. */
const implementations = [createShopify];

/**
 * Creates the platform that the settings name; undefined when they name none.
 * @param points undefined when nothing is read, or by one process only
 */
export function createPlatform(config: Config, log: Log, points?: SharedPoints): Platform | undefined {
  for (const create of implementations) {
    const platform = create(config, log, points);
    if (platform !== undefined) return platform;
  }
  return undefined;
}
