import { ServiceError } from "../../base/errors.ts";
import { utcTime } from "../../base/format.ts";
import type { Database } from "../../database/database.ts";
import { cancelRun } from "../../jobs/claim.ts";
import type { PlannedJob } from "../../jobs/job.ts";
import { type Run, runStatuses } from "../../jobs/run.ts";
import { listRunKinds, listRunsBefore, type RunFilter } from "../../jobs/run-list.ts";
import { findLastRun, findRun, findRunUnderWay } from "../../jobs/runs.ts";
import { type Action, type ActionContext, type AuditedAction, requireId } from "./action.ts";
import { listed, nameOf, planStart, requireJob } from "./jobs.ts";

/** @throws ServiceError `conflict` */
async function getRun({ database }: ActionContext, id: number): Promise<Run> {
  const run = await findRun(database, id);
  if (run !== undefined) return run;
  throw new ServiceError("conflict", `There is no run ${id}. It may have been removed.`);
}

export const planCancellation: Action = async (context, parameters) => {
  const run = await getRun(context, requireId(parameters, "run"));
  if (run.finishedAt !== null) {
    throw new ServiceError(
      "conflict",
      `Run ${run.id} has already ended: ${run.outcome} at ${utcTime(run.finishedAt)}.`,
    );
  }
  if (run.cancelled !== null) {
    throw new ServiceError("conflict", `Run ${run.id} is already ${run.cancelled}, and ends within seconds.`);
  }
  return {
    title: `Cancel run ${run.id}`,
    facts: [
      ["Job", run.job],
      ["Brand", run.brand],
      ["Started", utcTime(run.startedAt)],
    ],
    consequences: [
      "The run ends within seconds, wherever it runs, and is not retried. Data that it has stored completely stays.",
    ],
    button: "Cancel the run",
    fields: { run: `${run.id}` },
    ...cancelAction(context.writer, run.id, run),
  };
};

/** @param run undefined if there is none with the id; the action is then refused */
export const cancelAction = (database: Database, id: number, run: Run | undefined): AuditedAction => ({
  subject: run === undefined ? `run ${id}` : `run ${id}, ${run.job} for ${run.brand}`,
  perform: async (operator) =>
    (await cancelRun(database, id, operator))
      ? { result: "asked the run to end", url: `/runs/${id}` }
      : { result: `Run ${id} is not in progress.`, outcome: "refused" },
});

export const planRetry: Action = async (context, parameters) => {
  const run = await getRun(context, requireId(parameters, "run"));
  if (run.finishedAt === null) throw new ServiceError("conflict", `Run ${run.id} is in progress.`);
  if (run.outcome === "succeeded") throw new ServiceError("conflict", `Run ${run.id} has succeeded.`);
  const job = requireJob(context, run.job, run.brand);
  const { after, ...plan } = await planStart(context, job, parameters);
  const last = await findLastRun(context.database, run.job, run.brand);
  const hasSucceeded = last !== undefined && last.id > run.id && last.outcome === "succeeded";
  return {
    ...plan,
    title: `Retry run ${run.id}`,
    consequences: [
      "The job runs again, with its settings and its source as they are now.",
      ...(hasSucceeded ? [`Run ${last.id} of this job has succeeded since.`] : []),
    ],
    button: "Retry",
    fields: { run: `${run.id}`, after },
    subject: `run ${run.id}, ${nameOf(job)}`,
  };
};

/** Retries the jobs whose last run matches the filter, and did not succeed. */
export const planRetries: Action = async (context, parameters) => {
  const filter = filterOf(parameters);
  const found = await findRetriable(context, filter);
  const jobs = found.map(({ job }) => job);
  if (jobs.length === 0) {
    throw new ServiceError(
      "conflict",
      "There is nothing to retry: each job of these runs has succeeded since, is running, or is not configured here.",
    );
  }
  // The operator confirmed the jobs on the page, not others that failed meanwhile.
  const runs = found.map(({ run }) => run).join("-");
  if ((parameters.get("runs") || runs) !== runs) {
    throw new ServiceError("conflict", "The runs that match have changed since this form was loaded.");
  }
  const { job, brand, status: outcome } = filter;
  const fields = Object.entries({ job, brand, outcome, runs }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return {
    title: "Retry all that match",
    facts: jobs.map((each) => [each.name, each.brand] as const),
    consequences: ["Each of these jobs runs once, a few at a time. Its last run matches, and did not succeed."],
    button: `Retry ${jobs.length}`,
    fields: Object.fromEntries(fields),
    subject: listed(jobs),
    perform: async () => {
      const results = await Promise.allSettled(jobs.map((each) => context.startRun(each, false)));
      const texts = results.map((result, index) => {
        const name = nameOf(jobs[index] as PlannedJob);
        return result.status === "fulfilled"
          ? `started run ${result.value} of ${name}`
          : `${name}: ${result.reason.message}`;
      });
      const result = texts.join("; ");
      if (results.every(({ status }) => status === "rejected")) throw new ServiceError("conflict", result);
      return { result };
    },
  };
};

function filterOf(parameters: URLSearchParams): RunFilter {
  const outcome = parameters.get("outcome") || undefined;
  const status = runStatuses.find((each) => each === outcome);
  // An unknown outcome must not select all runs.
  if (status !== outcome) throw new ServiceError("bad_request", `${outcome} is not an outcome of a run.`);
  return { job: parameters.get("job") || undefined, brand: parameters.get("brand") || undefined, status };
}

interface Retriable {
  readonly job: PlannedJob;
  /** Its last run. */
  readonly run: number;
}

/** The configured jobs that are idle, and whose last run matches and did not succeed. */
async function findRetriable(context: ActionContext, filter: RunFilter): Promise<Retriable[]> {
  const { database } = context;
  const kinds = await listRunKinds(database);
  const checked = context.jobs.map(async (job) => {
    const own = kinds.filter((kind) => kind.job === job.name && kind.brand === job.brand);
    const [last, current] = await Promise.all([
      findLastRun(database, job.name, job.brand),
      findRunUnderWay(database, job.name, job.brand),
    ]);
    if (last === undefined || last.outcome === "succeeded" || current !== undefined) return [];
    const { runs } = await listRunsBefore(database, own, { ...filter, before: last.id + 1 }, 1);
    return runs[0]?.id === last.id ? [{ job, run: last.id }] : [];
  });
  return (await Promise.all(checked)).flat();
}
