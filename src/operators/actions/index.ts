import { ServiceError } from "../../base/errors.ts";
import { truncate } from "../../base/format.ts";
import type { Log } from "../../base/log.ts";
import { withTimeout } from "../../base/time.ts";
import { RateLimiter } from "../../http/rate-limiter.ts";
import type { AuditRequest } from "../audit.ts";
import { beginAudit, endAudit } from "../audit.ts";
import {
  type Action,
  type ActionContext,
  type ActionResult,
  type Confirmation,
  type EndedAction,
  type PlannedAction,
  performAction,
  typedField,
} from "./action.ts";
import { planPresentationRollback, planRemoval, planRollback } from "./brands.ts";
import { planDryRun, planForcedRun, planPause, planResume, planRun } from "./jobs.ts";
import { planCancellation, planRetries, planRetry } from "./runs.ts";

export type { ActionContext } from "./action.ts";

/** Names appear in URLs and in the audit. */
const actions = {
  run: planRun,
  "dry-run": planDryRun,
  force: planForcedRun,
  pause: planPause,
  resume: planResume,
  cancel: planCancellation,
  retry: planRetry,
  "retry-matching": planRetries,
  rollback: planRollback,
  "rollback-presentation": planPresentationRollback,
  "remove-brand": planRemoval,
} satisfies Readonly<Record<string, Action>>;

export type ActionName = keyof typeof actions;

const isAction = (name: string): name is ActionName => Object.hasOwn(actions, name);

/** Time that a page waits for the end of an action; the audit record shows it later. */
const patienceMs = 5000;

/** Refusals recorded per minute and operator, so that no operator can fill the store. */
const maxRefusals = 5;
const maxRefusalLength = 500;

export class Actions {
  readonly #context: ActionContext;
  readonly #log: Log;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #refusals = new RateLimiter(maxRefusals);

  constructor(context: ActionContext, log: Log) {
    this.#context = context;
    this.#log = log;
  }

  /** Settles when all actions that were begun have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  /** @throws ServiceError */
  async confirm(name: string, parameters: URLSearchParams): Promise<Confirmation> {
    const { subject: _, perform: _perform, ...confirmation } = await this.#plan(name, parameters);
    return confirmation;
  }

  /**
   * Stores the audit record before anything is changed.
   * @returns the path of the page with the result
   * @throws ServiceError `conflict` if a check prevented it
   */
  async perform(
    name: string,
    parameters: URLSearchParams,
    by: Pick<AuditRequest, "operator" | "client">,
  ): Promise<string> {
    let plan: PlannedAction;
    try {
      plan = await this.#plan(name, parameters);
      requireTyped(plan, parameters);
    } catch (error) {
      await this.refuse(name, by, error, describe(parameters));
      throw error;
    }
    const request = { ...by, action: name, subject: plan.subject };
    const id = await beginAudit(this.#context.writer, request);
    const ended = this.#end(id, request, plan);
    this.#pending.add(ended);
    void ended.finally(() => this.#pending.delete(ended));
    const result = await withTimeout(ended, patienceMs, () => undefined);
    const record = `/audit/${id}`;
    if (result === undefined) return record;
    if (result.outcome === "done") return ("done" in result && result.done.url) || record;
    throw new ServiceError("conflict", `${result.result} This is audit record ${id}.`);
  }

  /** Records that an operator signed in or out. */
  async note(request: Omit<AuditRequest, "subject">): Promise<void> {
    this.#log.info(request, "operator action");
    const id = await beginAudit(this.#context.writer, { ...request, subject: "console" });
    await endAudit(this.#context.writer, id, { outcome: "done", result: "" });
  }

  /** @param asked the parameters of the request, as far as it was read */
  async refuse(
    action: string,
    by: Pick<AuditRequest, "operator" | "client">,
    error: unknown,
    asked = "",
  ): Promise<void> {
    if (!(error instanceof ServiceError && isAction(action))) return;
    if (!this.#refusals.take(by.operator).isAllowed) return;
    const request = { ...by, action, subject: toStorable(asked) };
    const ended = { outcome: "refused", result: toStorable(error.message) } as const;
    this.#log.info({ ...request, ...ended }, "operator action");
    try {
      await endAudit(this.#context.writer, await beginAudit(this.#context.writer, request), ended);
    } catch (err) {
      this.#log.error({ ...request, err }, "cannot record a refused operator action");
    }
  }

  async #plan(name: string, parameters: URLSearchParams): Promise<PlannedAction> {
    if (!isAction(name)) throw new ServiceError("not_found", "There is no such action.");
    const plan = await actions[name](this.#context, parameters);
    requireKnown(plan, parameters);
    return plan;
  }

  async #end(id: number, request: AuditRequest, plan: PlannedAction): Promise<EndedAction<ActionResult>> {
    const ended = await performAction(plan, request.operator, "the log");
    const { outcome, result } = ended;
    if (outcome === "failed" && "error" in ended) {
      this.#log.error({ audit: id, err: ended.error }, "an operator action failed");
    }
    this.#log.info({ ...request, audit: id, outcome, result }, "operator action");
    // If the store is lost now, the record still says that the action began.
    await endAudit(this.#context.writer, id, ended).catch((error) =>
      this.#log.error({ audit: id, err: error }, "cannot record the end of an operator action"),
    );
    return ended;
  }
}

/** Other values may be secrets that were sent by mistake. */
const shownParameters = ["job", "brand", "run", "outcome", "from", "to"];

const describe = (parameters: URLSearchParams) =>
  [...parameters].flatMap(([name, value]) => (shownParameters.includes(name) ? [`${name}=${value}`] : [])).join(", ");

/** Requests may have long texts, and characters that not every engine accepts. */
const toStorable = (text: string) => truncate(text, maxRefusalLength).replaceAll("\0", "").toWellFormed();

/**
 * A misspelled parameter must not turn an action into another one.
 * @throws ServiceError `bad_request`
 */
function requireKnown({ fields, typed }: Confirmation, parameters: URLSearchParams): void {
  const known = [...Object.keys(fields), ...(typed === undefined ? [] : [typedField])];
  const names = [...parameters].flatMap(([name, value]) => (value === "" ? [] : [name]));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ServiceError(
      "bad_request",
      `${JSON.stringify(unknown)} is not a parameter of this action; it has ${known.join(", ")}. Nothing was changed.`,
    );
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated === undefined) return;
  throw new ServiceError("bad_request", `The parameter ${repeated} is given more than once. Nothing was changed.`);
}

/** @throws ServiceError `bad_request` */
function requireTyped({ typed }: Confirmation, parameters: URLSearchParams): void {
  if (typed === undefined || parameters.get(typedField)?.trim() === typed.value.trim()) return;
  throw new ServiceError("bad_request", `${typed.label}: ${JSON.stringify(typed.value)}. Nothing was changed.`);
}
