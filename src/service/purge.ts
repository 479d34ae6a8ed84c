import packageJson from "../../package.json" with { type: "json" };
import type { Config } from "../config/index.ts";
import type { Database } from "../database/database.ts";
import type { Log } from "../log.ts";
import { hashTag } from "../model/entity-tag.ts";
import { PurgeCounter } from "../purge/counter.ts";
import { followChanges } from "../purge/follower.ts";
import type { PurgeTarget } from "../purge/target.ts";
import { createTargets } from "../purge/targets.ts";

/** Purging the CDN. */
export interface Purging {
  readonly targets: readonly PurgeTarget[];
  readonly counter: PurgeCounter;
  /** @returns a promise that settles when the signal has stopped it */
  start(database: Database, log: Log, signal: AbortSignal): Promise<void>;
}

/** @returns undefined unless the settings say what to purge */
export function createPurging(config: Config): Purging | undefined {
  const { purge, purgeToken } = config;
  if (purge === undefined) return undefined;
  const targets = createTargets(purge, purgeToken);
  const counter = new PurgeCounter();
  const form = formOf(config);
  return {
    targets,
    counter,
    start: (database, log, signal) =>
      followChanges({ database, targets, form, counter, log, signal, onSettled: () => {} }),
  };
}

/** Responses differ between versions, and depend on these settings. */
const formOf = ({ shopDomain, brand, visible }: Config) =>
  hashTag(JSON.stringify([packageJson.version, shopDomain, brand, visible]));
