import { ServiceError } from "../../base/errors.ts";
import { toSentence } from "../../base/format.ts";
import { parseId } from "../../base/id.ts";
import type { Database } from "../../database/database.ts";
import type { DryRun } from "../../jobs/dry-run.ts";
import type { ImportReport } from "../../jobs/import-report.ts";
import type { PlannedJob } from "../../jobs/job.ts";
import type { AuditResult } from "../audit.ts";

export interface ActionContext {
  readonly database: Database;
  readonly writer: Database;
  readonly jobs: readonly PlannedJob[];
  /** @returns the run's id */
  readonly startRun: (job: PlannedJob, isForced: boolean) => Promise<number>;
  readonly dryRun: (job: PlannedJob) => Promise<DryRun>;
}

export interface ActionResult {
  /** A sentence if the action was refused; otherwise a phrase. */
  readonly result: string;
  /** Set if a check prevented the action. */
  readonly outcome?: "refused";
  readonly report?: ImportReport;
  /** Path of the page to show; by default, the audit record. */
  readonly url?: string;
}

/** An action of the console or the command line, as it is recorded. */
export interface AuditedAction<Result extends ActionResult = ActionResult> {
  /** For the audit, such as a job or a run. */
  readonly subject: string;
  /** @throws ServiceError when a check prevents it */
  readonly perform: (operator: string) => Promise<Result>;
}

export interface Confirmation {
  /** Such as "Pause catalog-import". */
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The effects of the action, in sentences. */
  readonly consequences: readonly string[];
  readonly button: string;
  /** Fields that the form repeats. */
  readonly fields: Readonly<Record<string, string>>;
  /** The text to type before an action that cannot be undone. */
  readonly typed?: { readonly label: string; readonly value: string } | undefined;
}

/** The field for that text. */
export const typedField = "typed";

/** Its effect is known, so an operator can check it first. */
export type PlannedAction = AuditedAction & Confirmation;

export type EndedAction<Result extends ActionResult> = AuditResult &
  ({ readonly done: Result } | { readonly error: unknown });

/**
 * Performs an action whose audit record has begun.
 * @param reporter where the caller reports unexpected errors, as the subject of a sentence
 */
export async function performAction<Result extends ActionResult>(
  { perform }: AuditedAction<Result>,
  operator: string,
  reporter: string,
): Promise<EndedAction<Result>> {
  try {
    const done = await perform(operator);
    return { outcome: "done", ...done, done };
  } catch (error) {
    if (error instanceof ServiceError) return { outcome: "refused", result: toSentence(error.message), error };
    const result = `An internal error occurred; ${reporter} has it. Check what was changed.`;
    return { outcome: "failed", result, error };
  }
}

/**
 * Plans an action, without changing anything.
 * @throws ServiceError `conflict` if it cannot be done now, `not_found`, or `bad_request`
 */
export type Action = (context: ActionContext, parameters: URLSearchParams) => Promise<PlannedAction>;

/** @throws ServiceError `bad_request` */
export function requireParameter(parameters: URLSearchParams, name: string): string {
  const value = parameters.get(name);
  if (value === null || value === "") throw new ServiceError("bad_request", `The parameter ${name} is missing.`);
  // Not every engine accepts it in a statement.
  if (value.includes("\0")) throw new ServiceError("bad_request", `The parameter ${name} contains a zero character.`);
  return value;
}

/** @throws ServiceError `bad_request` */
export function requireId(parameters: URLSearchParams, name: string): number {
  const id = parseId(requireParameter(parameters, name));
  if (id !== undefined) return id;
  throw new ServiceError("bad_request", `The parameter ${name} is not a valid id.`);
}
