import type { Database, Queryable } from "../database/database.ts";

/** The last pause of a job for a brand. Times are ISO 8601 in UTC, by the database's clock. */
export interface JobPause {
  readonly pausedAt: string;
  readonly pausedBy: string;
  readonly resumedAt: string | null;
}

export async function findPause({ sql }: Queryable, job: string, brand: string): Promise<JobPause | undefined> {
  const [pause] = await sql<JobPause[]>`
    SELECT paused_at AS "pausedAt", paused_by AS "pausedBy", resumed_at AS "resumedAt"
    FROM job_pause WHERE job = ${job} AND brand = ${brand}`;
  return pause;
}

/**
 * Keeps all replicas from starting scheduled runs until the job is resumed.
 * @param by name of the person
 * @returns whether it was not paused before
 */
export async function pauseJob(database: Database, job: string, brand: string, by: string): Promise<boolean> {
  return await database.inTransaction(async ({ sql, engine }) => {
    const changed = await sql`
      INSERT INTO job_pause (job, brand, paused_at, paused_by)
      VALUES (${job}, ${brand}, ${sql.unsafe(engine.now)}, ${by})
      ON CONFLICT (job, brand) DO UPDATE
      SET paused_at = excluded.paused_at, paused_by = excluded.paused_by, resumed_at = NULL
      WHERE job_pause.resumed_at IS NOT NULL RETURNING 1`;
    return changed.length > 0;
  });
}

/** The schedule continues from now on. @returns whether the job was paused */
export async function resumeJob(database: Database, job: string, brand: string): Promise<boolean> {
  return await database.inTransaction(async ({ sql, engine }) => {
    const { count } = await sql`
      UPDATE job_pause SET resumed_at = ${sql.unsafe(engine.now)}
      WHERE job = ${job} AND brand = ${brand} AND resumed_at IS NULL`;
    return count > 0;
  });
}
