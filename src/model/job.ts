import type { ListName } from "./personalization.ts";

/** How a run ended; abandoned: the process that ran it was gone before it could say how. */
export type Outcome = "succeeded" | "failed" | "abandoned";

/** One execution of a job for a brand. Instants are ISO 8601 text in UTC with milliseconds, by the database's clock. */
export interface Run {
  readonly id: number;
  readonly job: string;
  readonly brand: string;
  /** The instant of the schedule that it is for; null when it was started otherwise. */
  readonly scheduledAt: string | null;
  /** Counted from 1; more when it is a retry. */
  readonly attempt: number;
  readonly startedAt: string;
  /** Null while it is under way. */
  readonly finishedAt: string | null;
  /** Until when it counts as under way without another sign of life. */
  readonly leaseUntil: string;
  readonly outcome: Outcome | null;
  readonly counts: number;
  /** Why it did not succeed, in words; null otherwise. */
  readonly reason: string | null;
  /** The last lines that its process said, when it did not succeed. */
  readonly log: string | null;
}

/** How a configured job does. Instants as in `Run`; durations in seconds. */
export interface JobStatus {
  readonly job: string;
  readonly brand: string;
  /** When its schedule has it run next; null without a schedule. */
  readonly next: string | null;
  /** Its newest run that has ended; null before that. */
  readonly last: Run | null;
  /** Since when it is under way; null when it is not. */
  readonly runningSince: string | null;
  /** When it last succeeded; null when it never has. */
  readonly lastSuccess: string | null;
  /** Seconds since then. */
  readonly age: number | null;
  /** Whether that is too long ago. */
  readonly isStale: boolean;
}

/** The same with what a person wants to know of the job. */
export interface JobHealth extends JobStatus {
  /** What it reads, for people. */
  readonly source: string;
  /** Its cron expression with the time zone; null without a schedule. */
  readonly schedule: string | null;
  /** How many times of its schedule have passed since it last succeeded; no more than {@link countedTimes} are counted. */
  readonly dueSince: number;
}

export const countedTimes = 20;

/** What the history shows of a run. */
export interface FinishedRun {
  readonly brand: string;
  readonly counts: number;
  readonly finishedAt: string;
}

/** A row or document of a feed that was not accepted. */
export interface RejectedRow {
  readonly file: string;
  readonly line: number;
  /** Where in the row, such as `title` or `variants[3].price`; absent when the row as a whole is at fault. */
  readonly field?: string;
  readonly reason: string;
  /** The beginning of the row as it came, where that helps. */
  readonly text?: string;
}

/** The rows that were rejected for one reason. */
export interface Rejection {
  readonly field?: string;
  readonly reason: string;
  rows: number;
  /** The first of them. */
  readonly examples: { readonly file: string; readonly line: number; readonly text?: string }[];
}

/** What an import did, or would do. */
export interface ImportReport {
  /** Rows or documents that were right, a key that came twice counted once. */
  accepted: number;
  duplicates: number;
  rejected: number;
  readonly rejections: Rejection[];
  /** Unknown columns, duplicate keys: what was accepted, but worth knowing. */
  readonly notes: string[];
  /** What would have refused the feed, had it not been forced. */
  readonly overridden: string[];
  /** Of an import of personalization that came so far. */
  personalization?: PersonalizationReport;
}

/** How many things of a kind differ from the current generation. */
export interface Difference {
  readonly total: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** How often something occurs, with its first examples. */
export interface Occurrences {
  count: number;
  readonly examples: string[];
}

export interface FileReport {
  readonly list: ListName;
  readonly file: string;
  readonly encoding: string;
  /** Null for NDJSON. */
  readonly separator: string | null;
  readonly rows: number;
  /** Whether there was nothing in it, not even a header or an empty list. */
  readonly isBlank: boolean;
  readonly sha256: string;
}

export interface PersonalizationReport {
  readonly files: readonly FileReport[];
  /** Null where there is nothing to compare with. */
  readonly skus: Difference | null;
  readonly styles: Difference | null;
  readonly choices: Difference | null;
  readonly orphans: {
    readonly linesWithoutStyle: Occurrences;
    readonly stylesWithoutLine: Occurrences;
    readonly unusedChoiceGroups: Occurrences;
  };
  readonly nonNumericSequences: Occurrences;
  /** By column, how many rows have each status code. */
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** How many reasons, how many examples of each, and how many notes of a kind, a report spells out. */
export const reportedReasons = 20;
export const reportedExamples = 5;
export const reportedNotes = 20;

export function toText({ file, line, field, reason, text }: RejectedRow): string {
  return `${file}:${line}: ${field === undefined ? "" : `${field}: `}${reason}${text === undefined ? "" : `: ${text}`}`;
}

/** The beginning of a text that came from outside, in quotes, fit for a message. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
