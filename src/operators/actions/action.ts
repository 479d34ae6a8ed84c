import { ServiceError } from "../../base/errors.ts";
import type { Database } from "../../database/database.ts";
import type { DryRun } from "../../jobs/dry-run.ts";
import type { ImportReport } from "../../jobs/import-report.ts";
import type { PlannedJob } from "../../jobs/job.ts";
import type { Confirmation } from "./confirmation.ts";

/** Dependencies of the actions. */
export interface ActionContext {
  /** For reads. */
  readonly database: Database;
  readonly writer: Database;
  /** The configured jobs. */
  readonly jobs: readonly PlannedJob[];
  /** Starts a run of a job. @returns its id */
  readonly startRun: (job: PlannedJob, isForced: boolean) => Promise<number>;
  readonly dryRun: (job: PlannedJob) => Promise<DryRun>;
}

/** The result of an action. */
export interface ActionResult {
  /** In words. */
  readonly result: string;
  readonly report?: ImportReport;
  /** Page that shows it; by default the audit record. */
  readonly url?: string;
}

/** An action whose effect is known, so that an operator can check it first. */
export interface PlannedAction extends Confirmation {
  /** Subject of the action, such as a job or a run, for the audit. */
  readonly subject: string;
  /** @throws ServiceError when a check prevents it */
  readonly perform: (operator: string) => Promise<ActionResult>;
}

/**
 * Plans an action. It changes nothing.
 * @throws ServiceError `conflict` if it cannot be done now, `not_found`, or `bad_request`
 */
export type Action = (context: ActionContext, parameters: URLSearchParams) => Promise<PlannedAction>;

/** @throws ServiceError `bad_request` */
export function requireParameter(parameters: URLSearchParams, name: string): string {
  const value = parameters.get(name);
  if (value === null || value === "") throw new ServiceError("bad_request", `The parameter ${name} is missing.`);
  return value;
}

const maxId = 2 ** 31 - 1;

/** @throws ServiceError `bad_request` */
export function requireId(parameters: URLSearchParams, name: string): number {
  const text = requireParameter(parameters, name);
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  if (id >= 1 && id <= maxId) return id;
  throw new ServiceError("bad_request", `The parameter ${name} is not a valid id.`);
}
