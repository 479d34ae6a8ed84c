import { durationInWords } from "../base/format.ts";
import type { PurgeStatus } from "../cdn/position.ts";
import type { Problem } from "./problems.ts";

/** A change that is purged later than this is a problem. */
const maxUnpurgedS = 60;

export const listPurgeProblems = (statuses: readonly PurgeStatus[], now: number): Problem[] =>
  statuses
    .filter(({ oldestS }) => oldestS > maxUnpurgedS)
    .map(({ target, oldestS, failure }) => ({
      since: new Date(now - oldestS * 1000).toISOString(),
      text:
        `Changes have not been purged from ${target} for ${durationInWords(oldestS)}, so it may serve old data. ` +
        (failure === undefined ? "See the log." : `The last purge failed: ${failure.reason}.`),
    }));
