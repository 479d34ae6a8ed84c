import { ServiceError } from "../base/errors.ts";
import type { Database } from "../database/database.ts";
import {
  type ImportReport,
  type RejectedRow,
  reportedExamples,
  reportedNotes,
  reportedReasons,
} from "./import-report.ts";

/** If it throws, the run fails with the error's message as its reason. */
export type Work = (context: RunContext) => Promise<void>;

export interface RunContext {
  /** Undefined for a dry run if the store does not exist yet. */
  readonly database: Database | undefined;
  readonly isDryRun: boolean;
  /** Undefined for a dry run, which is not recorded. */
  readonly run: number | undefined;
  readonly brand: string;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress | undefined;
}

/** Bytes read of a stored file, before decompression; or other work done, in any unit. */
export interface Progress {
  readonly isDone: boolean;
  readonly file: string;
  readonly rows: number;
  readonly done: number;
  readonly total: number;
}

export type OnProgress = (progress: Progress) => void;

const otherReasons = "other reasons";

export class Reporter {
  /** Objects changed or confirmed so far. */
  counts = 0;
  readonly #noted = new Map<string, number>();
  readonly report: ImportReport = {
    accepted: 0,
    duplicates: 0,
    rejected: 0,
    rejections: [],
    notes: [],
    overridden: [],
  };

  get hasRejected(): boolean {
    return this.report.rejected > 0;
  }

  /** Counts work that has taken effect, such as written products. */
  accept(count = 1): void {
    this.report.accepted += count;
    this.counts += count;
  }

  /** Counts valid rows that only take effect together. They count for the run after {@link acceptStaged}. */
  stage(count = 1): void {
    this.report.accepted += count;
  }

  acceptStaged(): void {
    this.counts = this.report.accepted;
  }

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

  /** Adds the first notes of a kind with their texts, and the number of the others. */
  noteEach(kind: string, text: string): void {
    const count = (this.#noted.get(kind) ?? 0) + 1;
    this.#noted.set(kind, count);
    if (count <= reportedNotes) {
      this.note(text);
      return;
    }
    const { notes } = this.report;
    const more = (count: number) => `${count - reportedNotes} more ${kind}`;
    const before = notes.lastIndexOf(more(count - 1));
    notes.splice(before < 0 ? notes.length : before, 1, more(count));
  }

  /** @param notes describe the first of these rows */
  acceptDuplicates(count: number, notes: readonly string[]): void {
    const room = Math.max(reportedNotes - this.report.duplicates, 0);
    this.report.duplicates += count;
    this.report.accepted -= count;
    for (const note of notes.slice(0, room)) this.note(note);
  }

  finishDuplicates(): void {
    const more = this.report.duplicates - reportedNotes;
    if (more > 0) this.note(`${more} more duplicates`);
  }

  /** @throws ServiceError `invalid_input` unless the run is forced, which reports the checks as overridden */
  failUnlessForced(failedChecks: readonly string[], isForced: boolean): void {
    if (failedChecks.length === 0) return;
    if (!isForced) {
      const reason = `${failedChecks.join("; ")}, so nothing was changed; use --force to import it anyway`;
      throw new ServiceError("invalid_input", reason);
    }
    this.report.overridden.push(...failedChecks);
  }
}
