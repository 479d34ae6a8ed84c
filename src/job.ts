/** How a run ended. */
export type Outcome = "succeeded" | "failed";

/** One execution of a job for a brand. Instants are ISO 8601 text in UTC with milliseconds. */
export interface Run {
  readonly id: number;
  readonly job: string;
  readonly brand: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly outcome: Outcome | null;
  readonly counts: number;
  /** Why it failed, in words; null otherwise. */
  readonly reason: string | null;
}

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

/** How often something was seen, and where first. */
export interface Sighting {
  count: number;
  readonly examples: string[];
}

export interface FileReport {
  readonly list: "pzlines" | "pzstyles" | "pzchoices";
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
    readonly linesWithoutStyle: Sighting;
    readonly stylesWithoutLine: Sighting;
    readonly unusedChoiceGroups: Sighting;
  };
  readonly nonNumericSequences: Sighting;
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
