import type { Log } from "../../base/log.ts";
import type { Database } from "../../database/database.ts";
import { type Platform, PlatformError, UnusableProductError } from "../../platforms/platform.ts";
import { keptReason } from "../guards.ts";
import { keepStoredFields } from "../kept-fields.ts";
import { refreshProduct } from "../refresh.ts";
import { markUnusable } from "../sync.ts";

export interface PushReaderOptions {
  readonly database: Database;
  readonly platform: Platform;
  readonly log: Log;
  readonly maxRemovedShare: number;
}

export type ReadResult = "settled" | "unsettled" | "failed";

export function createPushReader({ database, platform, log, maxRemovedShare }: PushReaderOptions) {
  const context = { database, platform: keepStoredFields(platform, database), maxRemovedShare };
  return async (id: bigint, signal: AbortSignal): Promise<ReadResult> => {
    const beganMs = performance.now();
    try {
      const { outcome, isSettled } = await refreshProduct(id, { priority: "push", signal }, context);
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
