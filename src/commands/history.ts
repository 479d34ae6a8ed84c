import { ServiceError } from "../base/errors.ts";
import { formatDuration, formatNames } from "../base/format.ts";
import { readNow } from "../database/database.ts";
import { type FinishedRun, outcomes, type Run } from "../jobs/run.ts";
import { listRunKinds, type RunKind } from "../jobs/run-list.ts";
import { type FinishedRunFilter, historyLimit, listRuns } from "../jobs/runs.ts";
import { parseOrder } from "../operations/histories.ts";
import { type Values, withStore } from "./common.ts";
import { printMessage, printSafeJson, printTable } from "./output.ts";

export async function printHistory(text: string, values: Values): Promise<boolean> {
  const order = parseOrder(text);
  if (order === undefined) throw new ServiceError("bad_request", "history: expected the order asc or desc");
  const limit = toLimit(values);
  // Checks the options, also without a store.
  toFilter(values, Date.now());
  return await withStore(async (database) => {
    const filter = toFilter(values, Date.parse(await readNow(database)));
    const records = (await listRuns(database, filter, limit)).map(toRecord);
    if (order === "asc") records.reverse();
    if (values.json === true) printSafeJson({ histories: records });
    else if (records.length > 0) printTable(records.map(toRow));
    else if (Object.keys(filter).length === 0) printMessage("no job has finished yet");
    else printMessage(`no finished run matches${describeUnknown(filter, await listRunKinds(database))}`);
    return true;
  });
}

/** @param nowMs by the clock that dates the runs */
function toFilter({ job, brand, outcome, since }: Values, nowMs: number): FinishedRunFilter {
  return {
    ...(typeof job === "string" && { job: toName("job", job) }),
    ...(typeof brand === "string" && { brand: toName("brand", brand) }),
    ...(typeof outcome === "string" && { outcome: toOutcome(outcome) }),
    ...(typeof since === "string" && { since: toInstant(since, nowMs) }),
  };
}

/** A job or brand without runs may be misspelled. */
function describeUnknown(filter: FinishedRunFilter, kinds: readonly RunKind[]): string {
  const unknown = (["job", "brand"] as const).flatMap((noun) => {
    const valid = [...new Set(kinds.map((kind) => kind[noun]))];
    const name = filter[noun];
    if (name === undefined || valid.includes(name)) return [];
    const names = formatNames(valid.map((each) => JSON.stringify(each)));
    return [`; no run is of the ${noun} ${JSON.stringify(name)}; ${noun}s with runs: ${names || "none"}`];
  });
  return unknown.join("");
}

function toName(noun: string, text: string): string {
  if (text.trim() !== "") return text;
  throw new ServiceError("bad_request", `--${noun}: expected the name of a ${noun}`);
}

function toOutcome(text: string) {
  const outcome = outcomes.find((each) => each === text);
  if (outcome !== undefined) return outcome;
  throw new ServiceError("bad_request", `--outcome: expected one of ${outcomes.join(", ")}`);
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const timePattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Accepts an age such as `24h`, or a time. */
function toInstant(text: string, nowMs: number): string {
  const [, number, unit] = text.match(/^(\d{1,6})([smhd])$/) ?? [];
  if (unit !== undefined) return new Date(nowMs - Number(number) * (unitMs[unit] ?? 0)).toISOString();
  const [, day = ""] = text.match(timePattern) ?? [];
  const time = day === "" ? Number.NaN : Date.parse(text);
  // The parser takes February 30 for March 2.
  if (!Number.isNaN(time) && new Date(day).toISOString().startsWith(day)) return new Date(time).toISOString();
  throw new ServiceError(
    "bad_request",
    "--since: expected an age such as 90m, 24h or 7d, or a time such as 2026-01-31T12:00Z",
  );
}

function toLimit({ limit }: Values): number {
  if (typeof limit !== "string") return historyLimit;
  if (/^[1-9]\d{0,4}$/.test(limit) && Number(limit) <= 10_000) return Number(limit);
  throw new ServiceError("bad_request", "--limit: expected a number from 1 to 10000");
}

function toRecord({ id, finishedAt, startedAt, scheduledAt, ...run }: Run & FinishedRun) {
  const { job, brand, outcome, attempt, counts, reason, log } = run;
  // The clock may have been set back meanwhile.
  const seconds = Math.max(0, (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000);
  const finished = { run: id, finished_at: finishedAt, job, brand, outcome, seconds };
  return { ...finished, scheduled_at: scheduledAt, attempt, counts, reason, log };
}

function toRow({ run, finished_at, job, brand, outcome, seconds, counts, reason }: ReturnType<typeof toRecord>) {
  const finished = { run, finished_at, job, brand, outcome: outcome ?? "", duration: formatDuration(seconds), counts };
  return { ...finished, reason: reason?.replace(/\s+/g, " ") ?? "" };
}
