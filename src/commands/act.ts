import type { Database } from "../database/database.ts";
import { type ActionResult, type AuditedAction, performAction } from "../operators/actions/action.ts";
import type { ActionName } from "../operators/actions/index.ts";
import { beginAudit, endAudit } from "../operators/audit.ts";
import { describeOperator } from "./common.ts";
import { printMessage } from "./output.ts";

/**
 * Like the console, stores the audit record before anything is changed.
 * @throws the action's error
 */
export async function act<Result extends ActionResult>(
  database: Database,
  name: ActionName,
  action: AuditedAction<Result>,
): Promise<Result> {
  const operator = describeOperator();
  const { subject } = action;
  const id = await beginAudit(database, { operator, client: "command line", action: name, subject });
  const ended = await performAction(action, operator, "the output of the command");
  // The action is done, even without its result in the audit.
  await endAudit(database, id, ended).catch((error) =>
    printMessage(`audit record ${id} has no result: ${error.message}`),
  );
  if ("error" in ended) throw ended.error;
  return ended.done;
}
