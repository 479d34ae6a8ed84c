import { durationInWords, truncate } from "../base/format.ts";
import type { Job } from "./job.ts";
import type { Run } from "./run.ts";
import type { ProcessEnd } from "./runs.ts";

/** Monitors keep the beginning of a message: Healthchecks, by default, this many bytes. */
const maxBytes = 10_000;
const maxReasonLength = 2000;

/** The message of a run that starts. */
export const describeStart = ({ name, brand }: Job, id: number) => toLines({ run: id, job: name, brand });

/**
 * The message of a run that ended: a line for each fact, and the last lines of its log.
 * @param run undefined if its end could not be recorded
 * @param end what the supervisor knows
 * @param hide removes secrets from a text
 * @param failingSince when the first unsuccessful run after the last success before this run ended
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

/** Nothing for the first run that failed: it says when it ended. */
function describeOutage(since: string, run: Run | undefined): Readonly<Record<string, string>> {
  if (run === undefined || run.finishedAt === null || run.finishedAt === since) return {};
  if (run.outcome !== "succeeded") return { "failing since": since };
  const seconds = Math.max(0, Date.parse(run.finishedAt) - Date.parse(since)) / 1000;
  return { "had failed since": since, "it lasted": durationInWords(seconds) };
}

const toLines = (facts: Readonly<Record<string, string | number>>) =>
  Object.entries(facts)
    .map(([name, value]) => `${name}: ${`${value}`.replace(/\s+/g, " ")}\n`)
    .join("");

/** The end of a text, from the beginning of a line. */
function lastBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= count) return text;
  const end = bytes.subarray(bytes.length - count);
  // A line that is longer than all there is room for begins with a whole character.
  const start = end.includes(10) ? end.indexOf(10) + 1 : end.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return end.subarray(start).toString();
}
