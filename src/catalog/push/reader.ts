import type { Database } from "../../database/database.ts";
import { Reporter } from "../../jobs/work.ts";
import type { Log } from "../../log.ts";
import type { Platform } from "../../platforms/platform.ts";
import { checkShop } from "../guards.ts";
import { syncProduct } from "../sync.ts";

export interface PushReaderOptions {
  readonly database: Database;
  readonly platform: Platform;
  readonly log: Log;
  /** Share of the stored products, from 0 to 1, that may be removed one by one. */
  readonly maxRemovedShare: number;
}

/** Creates the function that reads delivered products: the same way as `catalog-sync`, one by one. */
export function createPushReader({ database, platform, log, maxRemovedShare }: PushReaderOptions) {
  let shopId: string | undefined;
  return async (id: bigint, signal: AbortSignal): Promise<"settled" | "unsettled" | "failed"> => {
    if (shopId === undefined) {
      const shop = await platform.readShop(signal);
      await checkShop(database, platform, shop.id);
      shopId = shop.id;
    }
    const reporter = new Reporter();
    const outcome = await syncProduct(id, new Set(), { database, platform, shopId, reporter, signal, maxRemovedShare });
    for (const note of reporter.report.notes) log.warn({ product: `${id}` }, note);
    return outcome === "done" ? "settled" : outcome;
  };
}
