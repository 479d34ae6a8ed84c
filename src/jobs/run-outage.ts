import type { Queryable } from "../database/database.ts";
import type { Outcome } from "./run.ts";

/**
 * SQL expression for the start of the first matching run. Each outcome has an index; for all outcomes
 * together, the planner may read every run of every job.
 */
const startOfFirst = (outcomes: readonly Outcome[], condition: string) => {
  const ids = outcomes.map(
    (outcome) => `SELECT min(run.id) AS id FROM run WHERE outcome = '${outcome}' AND ${condition}`,
  );
  return `(SELECT started_at FROM run WHERE id = (SELECT min(id) FROM (${ids.join(" UNION ALL ")}) AS first))`;
};

/** Returns the start of the first failed run since the last success, up to the given run. */
export async function findFailingSince(
  { read }: Queryable,
  { id, job, brand }: { readonly id: number; readonly job: string; readonly brand: string },
): Promise<string | undefined> {
  const lastSuccess = "SELECT max(id) FROM run WHERE job = $1 AND brand = $2 AND outcome = 'succeeded' AND id < $3";
  const since = startOfFirst(
    ["failed", "abandoned", "cancelled"],
    `job = $1 AND brand = $2 AND id <= $3 AND id > coalesce((${lastSuccess}), 0)`,
  );
  const [run] = await read<{ at: string | null }>(`SELECT ${since} AS at`, [job, brand, id]);
  return run?.at ?? undefined;
}
