import type { ImportReport } from "./import-report.ts";

/** How an operator's action ended. `refused`: a check prevented it, and nothing was changed. */
export type AuditOutcome = "done" | "refused" | "failed";

/** An action that an operator asked for. */
export interface AuditRequest {
  readonly operator: string;
  /** Address of the client. */
  readonly client: string;
  /** Name of the action. */
  readonly action: string;
  /** Subject of the action, such as a job or a run, in words. */
  readonly subject: string;
}

/** How it ended. */
export interface AuditResult {
  readonly outcome: AuditOutcome;
  /** In words. */
  readonly result: string;
  /** Findings of a dry run. */
  readonly report?: ImportReport | undefined;
}

/** An action of an operator. Times are ISO 8601 in UTC, by the database's clock. */
export interface AuditRecord extends AuditRequest {
  readonly id: number;
  readonly begunAt: string;
  /** Null until the action has ended, as are outcome and result. */
  readonly endedAt: string | null;
  readonly outcome: AuditOutcome | null;
  readonly result: string | null;
}
