import type { Database } from "../../database/database.ts";
import type { Log } from "../../log.ts";
import { type Platform, PlatformError } from "../../platforms/platform.ts";
import { checkShop, keptReason } from "../guards.ts";
import { refreshProduct } from "../refresh.ts";

export interface PushReaderOptions {
  readonly database: Database;
  readonly platform: Platform;
  readonly log: Log;
  /** Share of the stored products, from 0 to 1, that may be removed within 24 hours. */
  readonly maxRemovedShare: number;
}

/** Creates the function that reads delivered products as `catalog-sync` does. */
export function createPushReader({ log, ...context }: PushReaderOptions) {
  const { database, platform } = context;
  const checkAnswer = (shopId: string) => checkShop(database, platform, shopId);
  return async (id: bigint, signal: AbortSignal): Promise<"settled" | "unsettled" | "failed"> => {
    try {
      const options = { priority: "sync", signal } as const;
      const { outcome, isSettled } = await refreshProduct(id, "push", options, { ...context, checkShop: checkAnswer });
      if (outcome === "kept") log.warn({ product: `${id}` }, `the product ${keptReason}`);
      return isSettled ? "settled" : "unsettled";
    } catch (error) {
      if (!(error instanceof PlatformError) || signal.aborted) throw error;
      log.warn({ product: `${id}`, cause: error.message }, "cannot read a delivered product; retrying");
      return "failed";
    }
  };
}
