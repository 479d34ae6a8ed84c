import type { Log } from "../base/log.ts";
import { findReplacement } from "../base/program.ts";

/** Detects that the program was replaced; this process then starts no more runs. */
export interface UpgradeCheck {
  readonly reason: string | undefined;
  hasHappened(): boolean;
}

export function createUpgradeCheck({ log }: { log: Log }): UpgradeCheck {
  let reason: string | undefined;
  return {
    get reason() {
      return reason;
    },
    hasHappened: () => {
      if (reason !== undefined) return true;
      reason = findReplacement();
      if (reason !== undefined) log.error({ reason }, "no further runs are started here");
      return reason !== undefined;
    },
  };
}
