import { durationInWords, truncate } from "../base/format.ts";
import type { Job } from "./job.ts";
import type { Run } from "./run.ts";
import type { ProcessEnd } from "./runs.ts";

/** Monitors truncate messages: Healthchecks, by default, to this many bytes. */
const maxBytes = 10_000;
const maxReasonLength = 2000;

export const describeStart = ({ name, brand }: Job, id: number) => toLines({ run: id, job: name, brand });

/**
 * @param run undefined if its end could not be recorded
 * @param hide removes secrets from a text
 */
export function describeEnd(
  { name, brand }: Job,
  id: number,
  run: Run | undefined,
  end: ProcessEnd,
  hide: (text: string) => string,
  failingSince?: string,
): string {
  const unrecorded = `the store is unreachable, so its end could not be recorded; ${end.stopped ?? end.exit}`;
  const reason = run === undefined ? unrecorded : run.reason;
  const facts = toLines({
    run: id,
    job: name,
    brand,
    outcome: run?.outcome ?? "unknown",
    ...(reason !== null && { reason: truncate(hide(reason), maxReasonLength) }),
    ...(run !== undefined && { attempt: run.attempt, started: run.startedAt, finished: run.finishedAt ?? "" }),
    ...(run !== undefined && { counts: run.counts }),
    ...(failingSince !== undefined && describeOutage(failingSince, run)),
  });
  const log = run === undefined ? end.log : run.log;
  if (log === null) return facts;
  const heading = `${facts}\nlast lines:\n`;
  return heading + lastBytes(hide(log), maxBytes - Buffer.byteLength(heading));
}

/** An outage that this run began has no duration yet. */
function describeOutage(since: string, run: Run | undefined): Readonly<Record<string, string>> {
  if (run === undefined || run.finishedAt === null || run.startedAt === since) return {};
  if (run.outcome !== "succeeded") return { "failing since": since };
  const seconds = Math.max(0, Date.parse(run.finishedAt) - Date.parse(since)) / 1000;
  return { "had failed since": since, "it lasted": durationInWords(seconds) };
}

const toLines = (facts: Readonly<Record<string, string | number>>) =>
  Object.entries(facts)
    .map(([name, value]) => `${name}: ${`${value}`.replace(/\s+/g, " ")}\n`)
    .join("");

function lastBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= count) return text;
  const end = bytes.subarray(bytes.length - count);
  // If the line is longer than the limit, start at a whole character.
  const start = end.includes(10) ? end.indexOf(10) + 1 : end.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return end.subarray(start).toString();
}
