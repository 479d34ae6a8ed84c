import type { Database, Queryable } from "../database/database.ts";

export interface JobSchedule {
  readonly schedule: string;
  /** When a replica first followed it: ISO 8601 in UTC, by the database's clock. */
  readonly since: string;
}

/** @returns undefined if the job has no schedule, or no replica has followed it yet */
export async function findSchedule({ sql }: Queryable, job: string, brand: string): Promise<JobSchedule | undefined> {
  const [found] = await sql<JobSchedule[]>`
    SELECT schedule, since FROM job_schedule WHERE job = ${job} AND brand = ${brand}`;
  return found;
}

/** @returns when the job got this schedule */
export function recordSchedule(database: Database, job: string, brand: string, schedule: string): Promise<string> {
  return database.inTransaction(async ({ sql, engine }) => {
    const [row] = await sql<{ since: string }[]>`
      INSERT INTO job_schedule (job, brand, schedule, since)
      VALUES (${job}, ${brand}, ${schedule}, ${sql.unsafe(engine.now)})
      ON CONFLICT (job, brand) DO UPDATE SET schedule = excluded.schedule,
        since = CASE WHEN job_schedule.schedule = excluded.schedule THEN job_schedule.since ELSE excluded.since END
      RETURNING since`;
    return row?.since ?? "";
  });
}

export async function forgetOtherSchedules(
  database: Database,
  scheduled: readonly { readonly name: string; readonly brand: string }[],
): Promise<void> {
  const kept = ["", ...scheduled.map(({ name, brand }) => `${name} ${brand}`)];
  await database.inTransaction(
    ({ sql }) => sql`DELETE FROM job_schedule WHERE job || ' ' || brand NOT IN ${sql(kept)}`,
  );
}
