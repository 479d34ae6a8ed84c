import type { Database } from "../database/database.ts";
import { ServiceError } from "../errors.ts";
import { type ImportReport, type RejectedRow, reportedExamples, reportedNotes, reportedReasons } from "../model/job.ts";

/** What a job does when it runs; what it throws is why the run failed. */
export type Work = (context: RunContext) => Promise<void>;

export interface RunContext {
  /** Undefined for a rehearsal where there is no store yet. */
  readonly database: Database | undefined;
  /** Only read and check: nothing is to change. */
  readonly isDryRun: boolean;
  readonly brand: string;
  readonly reporter: Reporter;
  /** Tells the work to stop. */
  readonly signal: AbortSignal;
  /** Is told how far a long reading has come. */
  readonly onProgress?: OnProgress | undefined;
}

/** How far the reading of a file has come; `bytes` of `totalBytes` as the file lies there. */
export interface Progress {
  /** Whether it has been read to its end. */
  readonly isDone: boolean;
  readonly file: string;
  readonly rows: number;
  readonly bytes: number;
  readonly totalBytes: number;
}

export type OnProgress = (progress: Progress) => void;

const otherReasons = "other reasons";

/** Keeps account of one run. */
export class Reporter {
  /** What the run has changed or confirmed as served so far. */
  counts = 0;
  readonly report: ImportReport = {
    accepted: 0,
    duplicates: 0,
    rejected: 0,
    rejections: [],
    notes: [],
    overridden: [],
  };

  /** Whether a row was rejected. */
  get hasRejected(): boolean {
    return this.report.rejected > 0;
  }

  /** Something that is done, such as products that are written. */
  accept(count = 1): void {
    this.report.accepted += count;
    this.counts += count;
  }

  /** A row or document that is right, of a set that is served whole or not at all: it counts once `acceptAll` says so. */
  read(): void {
    this.report.accepted++;
  }

  /** The whole set that was read is served now, or would be after a dry run. */
  acceptAll(): void {
    this.counts = this.report.accepted;
  }

  /** One row or document, with all that is wrong with it. */
  reject(...problems: RejectedRow[]): void {
    this.report.rejected++;
    for (const problem of problems) this.#reject(problem);
  }

  #reject({ field, reason, ...example }: RejectedRow): void {
    const { rejections } = this.report;
    const known = rejections.find((rejection) => rejection.field === field && rejection.reason === reason);
    if (known !== undefined) {
      known.rows++;
      if (known.examples.length < reportedExamples) known.examples.push(example);
    } else if (rejections.length < reportedReasons || reason === otherReasons) {
      rejections.push({ ...(field !== undefined && { field }), reason, rows: 1, examples: [example] });
    } else {
      this.#reject({ reason: otherReasons, ...example });
    }
  }

  note(text: string): void {
    this.report.notes.push(text);
  }

  /** A key that was there before: its last row wins. */
  acceptDuplicate(where: string, what: string, earlier: string): void {
    this.report.duplicates++;
    if (this.report.duplicates <= reportedNotes) {
      this.note(`${where}: ${what} again, first at ${earlier}; the last one wins`);
    }
  }

  /** Tells of the duplicates that were not told one by one. */
  finishDuplicates(): void {
    const more = this.report.duplicates - reportedNotes;
    if (more > 0) this.note(`${more} more duplicates`);
  }

  /**
   * What speaks against the import: refused, or, when it is forced, reported.
   * @throws ServiceError `invalid_input`
   */
  object(objections: readonly string[], isForced: boolean): void {
    if (objections.length === 0) return;
    if (!isForced) throw new ServiceError("invalid_input", `${objections.join("; ")}, so nothing was changed`);
    this.report.overridden.push(...objections);
  }
}
