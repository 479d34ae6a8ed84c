import { ServiceError } from "../../base/errors.ts";
import { formatNames, formatNumber, pluralize, utcTime } from "../../base/format.ts";
import type { Database } from "../../database/database.ts";
import type { PlannedJob } from "../../jobs/job.ts";
import { findPause, pauseJob, resumeJob } from "../../jobs/job-pause.ts";
import { findNewestRun, findRunUnderWay } from "../../jobs/runs.ts";
import { type Action, type ActionContext, requireParameter } from "./action.ts";

/** @throws ServiceError `conflict` */
export function requireJob({ jobs }: ActionContext, name: string, brand: string): PlannedJob {
  const job = jobs.find((each) => each.name === name && each.brand === brand);
  if (job !== undefined) return job;
  const brands = jobs.filter((each) => each.name === name).map((each) => each.brand);
  const names = new Set(jobs.map((each) => each.name));
  const valid =
    brands.length > 0
      ? `It is configured for ${formatNames(brands)}.`
      : `Configured jobs: ${formatNames([...names]) || "none"}.`;
  throw new ServiceError("conflict", `The job ${name} is not configured here for ${brand}. ${valid}`);
}

const jobOf = (context: ActionContext, parameters: URLSearchParams) =>
  requireJob(context, requireParameter(parameters, "job"), requireParameter(parameters, "brand"));

export const nameOf = ({ name, brand }: PlannedJob) => `${name} for ${brand}`;

const factsOf = ({ name, brand, source }: PlannedJob) =>
  [
    ["Job", name],
    ["Brand", brand],
    ["Source", source],
  ] as const;

const fieldsOf = ({ name, brand }: PlannedJob) => ({ job: name, brand });

/**
 * Plans the start of a run. The form repeats the job's newest run, so that a form sent twice or late
 * starts no run.
 * @throws ServiceError `conflict` while the job is running, or if the form names another run
 */
export async function planStart(
  context: ActionContext,
  job: PlannedJob,
  parameters: URLSearchParams,
  isForced = false,
) {
  const { database, startRun } = context;
  const running = await findRunUnderWay(database, job.name, job.brand);
  if (running !== undefined) {
    throw new ServiceError(
      "conflict",
      `Run ${running.id} of ${nameOf(job)} has been in progress since ${utcTime(running.startedAt)}. Wait until it ends, or cancel it.`,
    );
  }
  const after = `${(await findNewestRun(database, job.name, job.brand))?.id ?? "none"}`;
  if ((parameters.get("after") || after) !== after) {
    throw new ServiceError("conflict", `Run ${after} of ${nameOf(job)} has begun since this form was loaded.`);
  }
  const perform = async () => {
    const id = await startRun(job, isForced);
    return { result: `started run ${id}`, url: `/runs/${id}` };
  };
  return { facts: factsOf(job), after, perform };
}

export const planRun: Action = async (context, parameters) => {
  const job = jobOf(context, parameters);
  const { after, ...plan } = await planStart(context, job, parameters);
  const pause = await findPause(context.database, job.name, job.brand);
  return {
    ...plan,
    title: `Run ${job.name} now`,
    consequences: [
      "A run starts in this replica, within the job's time limit and checks.",
      ...(pause?.resumedAt === null ? ["The job is paused. It runs once, and stays paused."] : []),
    ],
    button: "Run now",
    fields: { ...fieldsOf(job), after },
    subject: nameOf(job),
  };
};

export const planForcedRun: Action = async (context, parameters) => {
  const job = importOf(context, parameters);
  const { after, ...plan } = await planStart(context, job, parameters, true);
  return {
    ...plan,
    title: `Run ${job.name} past its checks`,
    consequences: [
      "The current data of the source is imported, even if checks fail. It may differ from the data that a failed run read.",
      "Rows and products that are missing there are removed from the shop's pages at once.",
      "The run's report lists the checks that were overridden. Personalization can be rolled back; products cannot.",
    ],
    button: "Import without checks",
    fields: { ...fieldsOf(job), after },
    subject: nameOf(job),
  };
};

export const planDryRun: Action = async (context, parameters) => {
  const job = importOf(context, parameters);
  return {
    title: `Try ${job.name}`,
    facts: factsOf(job),
    consequences: ["The current data of the source is read and checked. Nothing is changed. The result is a report."],
    button: "Start the dry run",
    fields: fieldsOf(job),
    subject: nameOf(job),
    perform: async () => {
      const { counts, reason, report } = await context.dryRun(job);
      const result = reason === undefined ? `would import ${formatNumber(counts)}` : `would fail: ${reason}`;
      return { result, report };
    },
  };
};

function importOf(context: ActionContext, parameters: URLSearchParams): PlannedJob {
  const job = jobOf(context, parameters);
  if (job.isImport === true) return job;
  throw new ServiceError("conflict", `${job.name} is not an import, so it has no dry run and no checks to override.`);
}

export const planPause: Action = async (context, parameters) => {
  const job = jobOf(context, parameters);
  const [known, current] = await Promise.all([
    findPause(context.database, job.name, job.brand),
    findRunUnderWay(context.database, job.name, job.brand),
  ]);
  if (known?.resumedAt === null) {
    throw new ServiceError(
      "conflict",
      `${nameOf(job)} has been paused since ${utcTime(known.pausedAt)} by ${known.pausedBy}.`,
    );
  }
  return {
    title: `Pause ${job.name}`,
    facts: factsOf(job),
    consequences: [
      "No replica starts a scheduled run of this job until somebody resumes it. Scheduled times until then are skipped.",
      ...(current === undefined ? [] : [`Run ${current.id} is in progress, and continues.`]),
    ],
    button: "Pause",
    fields: fieldsOf(job),
    ...pauseAction(context.writer, job),
  };
};

export const pauseAction = (database: Database, job: PlannedJob) => ({
  subject: nameOf(job),
  perform: async (operator: string) => {
    const isNew = await pauseJob(database, job.name, job.brand, operator);
    return { result: isNew ? "paused" : "was paused already", url: "/actions", isNew };
  },
});

export const planResume: Action = async (context, parameters) => {
  const job = jobOf(context, parameters);
  const known = await findPause(context.database, job.name, job.brand);
  if (known?.resumedAt !== null) throw new ServiceError("conflict", `${nameOf(job)} is not paused.`);
  const next = job.plan.schedule?.next(Date.now());
  return {
    title: `Resume ${job.name}`,
    facts: [...factsOf(job), ["Paused", `since ${utcTime(known.pausedAt)} by ${known.pausedBy}`]],
    consequences: [
      next === undefined
        ? "The job has no schedule."
        : `Its schedule continues. The next run is at ${utcTime(new Date(next).toISOString())}.`,
    ],
    button: "Resume",
    fields: fieldsOf(job),
    ...resumeAction(context.writer, job),
  };
};

export const resumeAction = (database: Database, job: PlannedJob) => ({
  subject: nameOf(job),
  perform: async () => {
    const wasPaused = await resumeJob(database, job.name, job.brand);
    return { result: wasPaused ? "resumed" : "was not paused", url: "/actions", wasPaused };
  },
});

export const listed = (jobs: readonly PlannedJob[]) =>
  `${pluralize(jobs.length, "job")}: ${jobs.map(nameOf).join(", ")}`;
