import type { Log } from "../../base/log.ts";
import type { Database } from "../../database/database.ts";
import { type Platform, PlatformError, UnusableProductError } from "../../platforms/platform.ts";
import { checkShop, keptReason } from "../guards.ts";
import { keepStoredFields } from "../kept-fields.ts";
import { refreshProduct } from "../refresh.ts";
import { markUnusable } from "../sync.ts";

export interface PushReaderOptions {
  readonly database: Database;
  readonly platform: Platform;
  readonly log: Log;
  readonly maxRemovedShare: number;
}

export function createPushReader({ log, platform: source, ...options }: PushReaderOptions) {
  const { database } = options;
  const platform = keepStoredFields(source, database);
  const context = { ...options, platform };
  const checkAnswer = (shopId: string) => checkShop(database, platform, shopId);
  return async (id: bigint, signal: AbortSignal): Promise<"settled" | "unsettled" | "failed"> => {
    const beganMs = performance.now();
    try {
      const options = { priority: "push", signal } as const;
      const { outcome, isSettled } = await refreshProduct(id, "push", options, { ...context, checkShop: checkAnswer });
      if (outcome === "kept") log.warn({ product: `${id}` }, `the product ${keptReason}`);
      return isSettled ? "settled" : "unsettled";
    } catch (error) {
      if (!(error instanceof PlatformError) || signal.aborted) throw error;
      if (error instanceof UnusableProductError) {
        log.warn({ product: `${id}`, cause: error.message }, "cannot store a delivered product");
        await markUnusable(id, beganMs, database);
        return "settled";
      }
      log.warn({ product: `${id}`, cause: error.message }, "cannot read a delivered product; retrying");
      return "failed";
    }
  };
}
