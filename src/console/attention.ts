import { countedTimes, type JobHealth } from "../job.ts";
import { counted, inWords, relative } from "./format.ts";

/** Something that a person should look at, in words. */
export interface Concern {
  readonly text: string;
  /** Where there is more about it. */
  readonly address?: string;
}

/** What needs attention, by the jobs and by what is held; nothing when everything is fine. */
export function listConcerns(
  jobs: readonly JobHealth[],
  brands: readonly string[],
  products: number,
  now: number,
): Concern[] {
  const loading = new Set(jobs.filter(({ last }) => last === null).map(({ job }) => job));
  const empty = [
    ...(products === 0 && !hasAny(loading, "catalog-import", "catalog-reconcile")
      ? [{ text: "No product is stored: run catalog-import, or import a file with pds import products FILE." }]
      : []),
    ...(brands.length === 0 && !hasAny(loading, "personalization-import")
      ? [
          {
            text: "No personalization is stored: run personalization-import, or import a feed with pds import personalization FOLDER.",
          },
        ]
      : []),
  ];
  return [...jobs.flatMap((health) => concernsOf(health, now)), ...empty];
}

const hasAny = (names: ReadonlySet<string>, ...wanted: string[]) => wanted.some((name) => names.has(name));

function concernsOf(health: JobHealth, now: number): Concern[] {
  const { job, brand, last, isStale, lastSuccess, dueSince } = health;
  const name = `${job} for ${brand}`;
  const hasFailed = last !== null && last.outcome !== "succeeded";
  if (!isStale && !hasFailed) return [];
  const due = dueSince > 0 ? `; it was due ${times(dueSince)} since` : "";
  const success =
    lastSuccess === null
      ? `${name} has never succeeded.`
      : `${name} last succeeded ${relative(Date.parse(lastSuccess), now)}${due}.`;
  if (!hasFailed) return [{ text: success, address: `/runs?${new URLSearchParams({ job, brand })}` }];
  const ended = last.outcome === "abandoned" ? "was abandoned" : "failed";
  const reason = last.reason === null ? "" : `: ${shortened(last.reason)}`;
  const failure = `Its last run ${ended} ${relative(Date.parse(last.finishedAt ?? last.startedAt), now)}${reason}.`;
  return [{ text: `${success} ${failure}${nextTry(health, now)}`, address: `/runs/${last.id}` }];
}

function nextTry({ runningSince, next }: JobHealth, now: number): string {
  if (runningSince !== null)
    return ` It has been running again for ${inWords((now - Date.parse(runningSince)) / 1000)}.`;
  if (next === null) return " No schedule runs it again.";
  return Date.parse(next) <= now ? " It is due now." : ` It runs again ${relative(Date.parse(next), now)}.`;
}

function times(count: number): string {
  if (count === 1) return "once";
  if (count === 2) return "twice";
  return count >= countedTimes ? `${countedTimes} times or more` : counted(count, "time");
}

const shortened = (text: string) => {
  const line = text.replace(/\s+/g, " ").replace(/\.$/, "");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
};
