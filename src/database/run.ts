import { historyLimit } from "../history.ts";
import type { FinishedRun, ImportReport, Outcome, Run } from "../job.ts";
import type { Database } from "./database.ts";

/** Records that a run has begun. @returns its id */
export async function beginRun({ sql, dialect }: Database, job: string, brand: string): Promise<number> {
  const [run] = await sql<{ id: number }[]>`
    INSERT INTO run (job, brand, started_at) VALUES (${job}, ${brand}, ${sql.unsafe(dialect.now)}) RETURNING id`;
  if (run === undefined) throw new Error("the database made no run");
  return run.id;
}

export interface RunEnd {
  readonly outcome: Outcome;
  readonly counts: number;
  readonly reason?: string;
  readonly report?: ImportReport;
}

/** Records how a run ended: from here on it is part of the history. */
export async function finishRun({ sql, dialect }: Database, id: number, end: RunEnd): Promise<void> {
  const report = end.report === undefined ? null : JSON.stringify(end.report);
  await sql`
    UPDATE run SET
      finished_at = ${sql.unsafe(dialect.now)}, outcome = ${end.outcome}, counts = ${end.counts},
      reason = ${end.reason ?? null}, report = ${report}
    WHERE id = ${id}`;
}

/** The newest finished runs, newest first. */
export async function listFinishedRuns({ sql }: Database): Promise<FinishedRun[]> {
  return await sql<FinishedRun[]>`
    SELECT brand, counts, finished_at AS ${sql("finishedAt")} FROM run
    WHERE finished_at IS NOT NULL ORDER BY finished_at DESC, id DESC LIMIT ${historyLimit}`;
}

/** The newest run of a job for a brand, finished or not. */
export async function findLastRun(database: Database, job: string, brand: string): Promise<Run | undefined> {
  const { sql } = database;
  const [run] = await sql<Run[]>`
    SELECT id, job, brand, started_at AS ${sql("startedAt")}, finished_at AS ${sql("finishedAt")}, outcome, counts, reason
    FROM run WHERE job = ${job} AND brand = ${brand} ORDER BY id DESC LIMIT 1`;
  return run;
}

export async function hasSucceeded({ sql }: Database, job: string, brand: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM run WHERE job = ${job} AND brand = ${brand} AND outcome = ${"succeeded" satisfies Outcome} LIMIT 1`;
  return rows.length > 0;
}
