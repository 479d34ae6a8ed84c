import type { PurgeStatus } from "../database/purge.ts";
import type { JobOutage } from "../database/run-outage.ts";
import { pluralize, truncate } from "../format.ts";

/** A problem that has ended. */
export interface EndedProblem {
  readonly text: string;
  /** ISO 8601 in UTC. */
  readonly since: string;
  readonly until: string;
  /** Page with the details. */
  readonly url?: string;
}

const shownMs = 7 * 86_400_000;
/** More are not shown. */
export const maxEndedProblems = 5;
const reasonLength = 160;

/** Problems of the last seven days that have ended, the newest first. */
export function listEndedProblems(
  outages: readonly JobOutage[],
  purges: readonly PurgeStatus[],
  now: number,
): EndedProblem[] {
  const ofJobs = outages.map(({ job, brand, since, until, run, reason }) => ({
    text: `${job} for ${brand} failed: ${shorten(reason)}.`,
    since,
    until,
    url: `/runs/${run}`,
  }));
  const ofPurges = purges.flatMap(({ target, ended }) =>
    ended.map(({ count, since, until, reason }) => ({
      text: `${pluralize(count, "purge")} of ${target} failed: ${shorten(reason)}.`,
      since,
      until,
    })),
  );
  return [...ofJobs, ...ofPurges]
    .filter(({ until }) => now - Date.parse(until) <= shownMs)
    .sort((a, b) => (a.until > b.until ? -1 : 1))
    .slice(0, maxEndedProblems);
}

const shorten = (reason: string) => truncate(reason.replace(/\s+/g, " ").replace(/\.$/, ""), reasonLength);
