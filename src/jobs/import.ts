import type { Database } from "../database/index.ts";
import { ServiceError } from "../errors.ts";
import { type ImportReport, type RejectedRow, reportedRows } from "../job.ts";

/** Reads a feed and makes it the stored set; with no database it only reads and checks. */
export type Import = (context: ImportContext) => Promise<void>;

export interface ImportContext {
  readonly database: Database | undefined;
  readonly brand: string;
  readonly reporter: ImportReporter;
}

/** Keeps account of one import. */
export class ImportReporter {
  readonly report: ImportReport = { accepted: 0, duplicates: 0, rejected: 0, rejectedRows: [], notes: [] };

  /** Whether a row was rejected: nothing will be changed any more, the rest is only checked. */
  get refused(): boolean {
    return this.report.rejected > 0;
  }

  accept(): void {
    this.report.accepted++;
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
    if (this.report.duplicates <= reportedRows)
      this.note(`${where}: ${what} again, first at ${earlier}; the last one wins`);
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
