import type { Database, Queryable } from "./database.ts";

/** The schedule of a job for a brand, as the replicas follow it. */
export interface JobSchedule {
  /** The cron expression with its time zone. */
  readonly schedule: string;
  /** When a replica first followed it: ISO 8601 in UTC, by the database's clock. */
  readonly since: string;
}

/** @returns undefined for a job that has no schedule, or that no replica has followed */
export async function findSchedule({ sql }: Queryable, job: string, brand: string): Promise<JobSchedule | undefined> {
  const [found] = await sql<JobSchedule[]>`
    SELECT schedule, since FROM job_schedule WHERE job = ${job} AND brand = ${brand}`;
  return found;
}

/**
 * Records that a job has this schedule, unless it had it before.
 * @returns since when
 */
export async function recordSchedule(
  database: Database,
  job: string,
  brand: string,
  schedule: string,
): Promise<string> {
  // Without a transaction, which would wait for an import in progress.
  const known = await findSchedule(database, job, brand);
  if (known?.schedule === schedule) return known.since;
  return await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await sql`
      INSERT INTO job_schedule (job, brand, schedule, since)
      VALUES (${job}, ${brand}, ${schedule}, ${sql.unsafe(engine.now)})
      ON CONFLICT (job, brand) DO UPDATE SET schedule = excluded.schedule, since = excluded.since
      WHERE job_schedule.schedule <> excluded.schedule`;
    return (await findSchedule(transaction, job, brand))?.since ?? "";
  });
}

/** Forgets the schedules of all other jobs: those that were switched off or removed. */
export async function forgetOtherSchedules(
  database: Database,
  scheduled: readonly { readonly name: string; readonly brand: string }[],
): Promise<void> {
  const known = await database.sql<{ job: string; brand: string }[]>`SELECT job, brand FROM job_schedule`;
  for (const { job, brand } of known) {
    if (scheduled.some((each) => each.name === job && each.brand === brand)) continue;
    await database.inTransaction(({ sql }) => sql`DELETE FROM job_schedule WHERE job = ${job} AND brand = ${brand}`);
  }
}
