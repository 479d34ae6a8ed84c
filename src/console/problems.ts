import { durationInWords, pluralize, relativeTime, truncate, utcTime } from "../base/format.ts";
import type { PushState } from "../catalog/push/state.ts";
import type { PurgeStatus } from "../cdn/position.ts";
import { countedTimes, type JobHealth } from "../jobs/run.ts";
import { urlWithQuery } from "./urls.ts";

export interface Problem {
  readonly text: string;
  /** When it began, ISO 8601 in UTC; undefined when the text says so. */
  readonly since?: string | undefined;
  readonly url?: string;
}

export function listProblems(
  jobs: readonly JobHealth[],
  brands: readonly string[],
  productCount: number,
  now: number,
): Problem[] {
  const problems = jobs.flatMap((health) => [...slowRunOf(health, now), ...problemsOf(health, now)]);
  // Missing data is normal until its job has succeeded, or if no job is configured.
  const hasSucceeded = (names: readonly string[]) =>
    jobs.some(({ job, lastSuccess }) => names.includes(job) && lastSuccess !== null);
  if (productCount === 0 && brands.length === 0 && jobs.length === 0) {
    problems.push({
      text: "Nothing is stored, and no jobs are configured. Import files: pds import products FILE, pds import personalization FOLDER.",
    });
  }
  if (productCount === 0 && hasSucceeded(["catalog-import", "catalog-reconcile"])) {
    problems.push({ text: "No products are stored, although their job has succeeded." });
  }
  if (brands.length === 0 && hasSucceeded(["personalization-import"])) {
    problems.push({ text: "No personalization is stored, although its job has succeeded." });
  }
  return problems;
}

function slowRunOf({ job, brand, isSlow, runningSince }: JobHealth, now: number): Problem[] {
  if (!isSlow || runningSince === null) return [];
  const duration = durationInWords((now - Date.parse(runningSince)) / 1000);
  return [
    {
      text: `${job} for ${brand} has been running for ${duration}, far longer than its last successful runs.`,
      since: runningSince,
      url: urlWithQuery("/runs", { job, brand, outcome: "running" }),
    },
  ];
}

function problemsOf(health: JobHealth, now: number): Problem[] {
  const { job, brand, last, isStale, isAhead } = health;
  const url = urlWithQuery("/runs", { job, brand });
  if (isAhead && last !== null) {
    const text = `${job} for ${brand} last ran at ${utcTime(last.finishedAt ?? last.startedAt)}, which is in the future: the clock of the database was set back. ${nextRunOf(health, now)}`;
    return [{ text, url }];
  }
  if (last !== null && last.outcome !== "succeeded") {
    const verb = last.outcome === "failed" ? "failed" : `was ${last.outcome}`;
    const reason = last.reason === null ? "" : `: ${shorten(last.reason)}`;
    const failure = `${job} for ${brand} ${verb} ${relativeTime(Date.parse(last.finishedAt ?? last.startedAt), now)}${reason}.`;
    const text = `${failure} ${describeServed(job, health.lastSuccess)} ${nextRunOf(health, now)}`;
    return [{ text, since: health.failingSince ?? undefined, url: `/runs/${last.id}` }];
  }
  return isStale ? [{ text: lastSuccessOf(health, now), url }] : [];
}

/**
 * Describes the effect of a failing job on shoppers.
 * @param lastSuccess ISO 8601; null if the job has never succeeded
 */
export function describeServed(job: string, lastSuccess: string | null): string {
  if (job === "history-retention") return "Shoppers see no difference.";
  return lastSuccess === null
    ? "It has never succeeded, so shoppers see none of its data."
    : `It last succeeded at ${utcTime(lastSuccess)}; shoppers still see what is stored.`;
}

function lastSuccessOf({ job, brand, lastSuccess, dueSince }: JobHealth, now: number): string {
  if (lastSuccess === null) return `${job} for ${brand} has never succeeded.`;
  const due = dueSince > 0 ? ` and has been due ${timesInWords(dueSince)} since` : "";
  return `${job} for ${brand} last succeeded ${relativeTime(Date.parse(lastSuccess), now)}${due}.`;
}

function nextRunOf({ runningSince, next, pausedSince }: JobHealth, now: number): string {
  if (runningSince !== null) {
    return `A new run has been in progress for ${durationInWords((now - Date.parse(runningSince)) / 1000)}.`;
  }
  if (pausedSince !== null) return "The job is paused.";
  if (next === null) return "No further run is scheduled.";
  return Date.parse(next) <= now
    ? "The next run is due now."
    : `The next run is ${relativeTime(Date.parse(next), now)}.`;
}

function timesInWords(count: number): string {
  if (count === 1) return "once";
  if (count === 2) return "twice";
  return `${count >= countedTimes ? "at least " : ""}${pluralize(Math.min(count, countedTimes), "time")}`;
}

export const shorten = (reason: string) => truncate(reason.replace(/\s+/g, " ").replace(/\.$/, ""), 200);

/** A delivered product that is read later than this is a problem. */
const maxUnreadS = 300;

export function listPushProblems(
  { queue, subscribed, uninstalledAt }: Omit<PushState, "deliveries">,
  now: number,
): Problem[] {
  const problems: Problem[] = [];
  if (uninstalledAt !== undefined) {
    const when = relativeTime(Date.parse(uninstalledAt), now);
    problems.push({
      since: uninstalledAt,
      text: `The shop removed the app ${when}, so products are no longer updated. Install it, and set its new credentials.`,
    });
  }
  if (subscribed !== undefined && subscribed.missing.length > 0) {
    problems.push({
      text:
        `The platform no longer delivers ${subscribed.missing.join(", ")} to ${subscribed.address}, because deliveries failed too often. ` +
        "Until then changes arrive with catalog-sync. Run: pds platform subscribe.",
    });
  }
  if (queue.oldestS > maxUnreadS) {
    problems.push({
      since: new Date(now - queue.oldestS * 1000).toISOString(),
      text: `A delivered change has waited for ${durationInWords(queue.oldestS)}. See the log for reads of the platform that fail.`,
    });
  }
  return problems;
}

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
