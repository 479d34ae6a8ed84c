import { join } from "node:path";
import type { Log } from "../base/log.ts";
import type { Config } from "../config/index.ts";
import { type Database, readNow } from "../database/database.ts";
import { closeDatabase, openDatabase } from "../database/index.ts";
import { claimRun } from "../jobs/claim.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { runJob } from "../jobs/run-job.ts";
import { listJobs } from "./jobs.ts";

const days = 7;
const dayMs = 86_400_000;
/** The personalization feed changes on this day. */
const changedDaysAgo = 3;
/** The catalog's feed is broken on this day. */
const brokenDaysAgo = 2;

const note = "sample data: this run took place when the service first started, with the clock of its scheduled time";

/**
 * Gives a new store of the sample brand a history: runs each job once for each of the past seven
 * days, with the clock set to its schedule. One feed changes during the week, and another is broken
 * once.
 * @param folder of the sample's feeds
 */
export async function runPastWeek(config: Config, folder: string, log: Log, signal: AbortSignal): Promise<void> {
  const database = await openDatabase(config.databaseDirectUrl || config.databaseUrl);
  try {
    const now = Date.parse(await readNow(database));
    for (let daysAgo = days; daysAgo > 0; daysAgo--) {
      const jobs = listJobs(configOf(daysAgo, folder, config), log, undefined);
      for (const { job, at } of listDue(jobs, now - daysAgo * dayMs)) {
        if (signal.aborted) return;
        await runAt(at, job, config, database, signal);
      }
    }
  } finally {
    await closeDatabase(database);
  }
}

function configOf(daysAgo: number, folder: string, config: Config): Config {
  const {
    "personalization-import": personalization,
    "presentation-import": presentation,
    "catalog-import": catalog,
  } = config.jobs;
  const source = join(folder, "earlier");
  const broken = [join(folder, "broken", "missing-title.ndjson")];
  const jobs = {
    ...config.jobs,
    // The sample's files are complete.
    ...(presentation && {
      "presentation-import": presentation.map((options) => ({ ...options, settle_seconds: 0 })),
    }),
    ...(personalization && {
      "personalization-import": personalization.map((options) => ({
        ...options,
        settle_seconds: 0,
        ...(daysAgo > changedDaysAgo && { source }),
      })),
    }),
    ...(daysAgo === brokenDaysAgo && catalog && { "catalog-import": { ...catalog, source: broken } }),
  };
  return { ...config, jobs };
}

/** The first run of each job that is due within a day, in order. */
function listDue(jobs: readonly PlannedJob[], from: number): { readonly job: PlannedJob; readonly at: number }[] {
  const due = jobs.flatMap((job) => {
    const at = job.plan.schedule?.next(from) ?? Number.POSITIVE_INFINITY;
    return at < from + dayMs ? [{ job, at }] : [];
  });
  return due.sort((one, other) => one.at - other.at);
}

async function runAt(
  at: number,
  job: PlannedJob,
  { leaseSeconds }: Config,
  store: Database,
  signal: AbortSignal,
): Promise<void> {
  const database = store.behind((Date.parse(await readNow(store)) - at) / 1000);
  const scheduledAt = new Date(at).toISOString();
  const id = await claimRun(database, { job: job.name, brand: job.brand, scheduledAt }, leaseSeconds);
  if (id === undefined) return;
  await runJob(database, job, id, leaseSeconds, { signal, note });
}
