import type { Database } from "../database/database.ts";
import { findNewerVersion } from "../database/migrate.ts";
import type { Log } from "../log.ts";
import { findReplacement } from "../program.ts";

/** Notices that the store or the program was upgraded, after which this process starts no run. */
export interface UpgradeCheck {
  readonly reason: string | undefined;
  /** @returns whether scheduling ends */
  hasHappened(): Promise<boolean>;
}

export function createUpgradeCheck({ database, log }: { database: Database; log: Log }): UpgradeCheck {
  let reason: string | undefined;
  return {
    get reason() {
      return reason;
    },
    hasHappened: async () => {
      if (reason !== undefined) return true;
      const newer = await findNewerVersion(database);
      reason ??= newer === undefined ? findReplacement() : `the store was upgraded: ${newer}`;
      if (reason !== undefined) log.error({ reason }, "no further runs are started here");
      return reason !== undefined;
    },
  };
}
