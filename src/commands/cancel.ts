import { ServiceError } from "../base/errors.ts";
import { pause } from "../base/time.ts";
import type { Database } from "../database/database.ts";
import { abandonRuns } from "../jobs/claim.ts";
import type { Run } from "../jobs/run.ts";
import { findRun } from "../jobs/runs.ts";
import { cancelAction } from "../operators/actions/runs.ts";
import { act } from "./act.ts";
import { onSignal, parseRunId, type Values, withStore } from "./common.ts";
import { print, printMessage, printSafeJson } from "./output.ts";

const pollMs = 250;
/** A run gets SIGKILL ten seconds after SIGTERM; its supervisor may notice late. */
const patienceMs = 30_000;

export async function cancel(text: string, values: Values): Promise<boolean> {
  const id = parseRunId("cancel", text);
  return await withStore(async (database, { leaseSeconds }) => {
    const found = await findRun(database, id);
    const { outcome: refused } = await act(database, "cancel", cancelAction(database, id, found));
    if (refused !== undefined) throw await explainRefusal(database, id);
    printMessage(`run ${id} is being cancelled`);
    const run = await waitForEnd(database, id, patienceMs + leaseSeconds * 1000);
    const isCancelled = run.outcome !== "succeeded";
    const { job, brand, outcome, reason } = run;
    if (values.json === true) printSafeJson({ run: id, job, brand, outcome, reason });
    else
      print(`run ${id}: ${job} for ${brand} ${isCancelled ? `ended: ${reason}` : "succeeded before it was stopped"}`);
    return isCancelled;
  });
}

async function explainRefusal(database: Database, id: number): Promise<ServiceError> {
  const run = await findRun(database, id);
  return run === undefined
    ? new ServiceError("not_found", `there is no run ${id}; "pds jobs" lists the runs in progress`)
    : new ServiceError("unavailable", `run ${id} has ended already: ${run.outcome} at ${run.finishedAt}`);
}

/** @throws ServiceError `unavailable` if the run continues, or was taken back */
async function waitForEnd(database: Database, id: number, forMs: number): Promise<Run> {
  const { signal } = onSignal();
  for (const begunAt = performance.now(); performance.now() - begunAt < forMs; ) {
    // The processes of the run may be lost.
    await abandonRuns(database);
    const run = await findRun(database, id);
    if (run === undefined) throw new ServiceError("unavailable", `run ${id} was taken back during an upgrade`);
    if (run.finishedAt !== null) return run;
    await pause(pollMs, signal);
    if (signal.aborted) throw signal.reason;
  }
  throw new ServiceError(
    "unavailable",
    `run ${id} is still in progress: its process has not reacted, or is of a version that cannot cancel runs`,
  );
}
