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
}

/** What an import did, or would do. */
export interface ImportReport {
  /** Rows or documents that were right, a key that came twice counted once. */
  accepted: number;
  duplicates: number;
  rejected: number;
  /** The first rejected rows, at most {@link reportedRows}. */
  readonly rejectedRows: RejectedRow[];
  /** Unknown columns, duplicate keys: what was accepted, but worth knowing. */
  readonly notes: string[];
}

/** How many rejected rows, and how many notes of a kind, a report spells out. */
export const reportedRows = 20;

export function toText({ file, line, field, reason }: RejectedRow): string {
  return `${file}:${line}: ${field === undefined ? "" : `${field}: `}${reason}`;
}
