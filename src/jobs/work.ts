import type { Database } from "../database/database.ts";
import { ServiceError } from "../errors.ts";
import { type ImportReport, type RejectedRow, reportedRows } from "../job.ts";

/** What a job does when it runs; what it throws is why the run failed. */
export type Work = (context: RunContext) => Promise<void>;

export interface RunContext {
  /** Undefined for an import that only reads and checks. */
  readonly database: Database | undefined;
  readonly brand: string;
  readonly reporter: Reporter;
  /** Tells the work to stop. */
  readonly signal: AbortSignal;
}

/** Keeps account of one run. */
export class Reporter {
  readonly report: ImportReport = { accepted: 0, duplicates: 0, rejected: 0, rejectedRows: [], notes: [] };

  /** Whether a row was rejected: nothing will be changed any more, the rest is only checked. */
  get refused(): boolean {
    return this.report.rejected > 0;
  }

  accept(count = 1): void {
    this.report.accepted += count;
  }

  reject(...rows: RejectedRow[]): void {
    this.report.rejected++;
    this.report.rejectedRows.push(...rows.slice(0, Math.max(0, reportedRows - this.report.rejectedRows.length)));
  }

  note(text: string): void {
    this.report.notes.push(text);
  }

  /** A key that was there before: its last row wins. */
  acceptDuplicate(where: string, what: string, earlier: string): void {
    this.report.duplicates++;
    if (this.report.duplicates <= reportedRows) {
      this.note(`${where}: ${what} again, first at ${earlier}; the last one wins`);
    }
  }

  /**
   * Ends the reading.
   * @throws ServiceError `invalid_input` when a row was rejected.
   */
  finish(): void {
    const { accepted, duplicates, rejected } = this.report;
    if (duplicates > reportedRows) this.note(`${duplicates - reportedRows} more duplicates`);
    if (!this.refused) return;
    const read = accepted + duplicates + rejected;
    throw new ServiceError("invalid_input", `${rejected} of ${read} were rejected, so nothing was changed`);
  }
}
