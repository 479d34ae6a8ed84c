import type { Queryable } from "../database/database.ts";

/** The clocks of database servers may differ by this much after a failover. */
export const clockToleranceSeconds = 5 * 60;

/** Longer than any lease of an unrecorded length. */
const workLeaseSeconds = 60;

/** Describes stored times in the future, and a difference between this machine's clock and the store's. */
export async function findClockProblem({ read, engine }: Queryable): Promise<string | undefined> {
  // Each maximum comes from an index.
  const [row] = await read<{ now: string; latest: string | null }>(
    `SELECT ${engine.now} AS now, max(at) AS latest FROM (
      SELECT max(finished_at) AS at FROM run WHERE finished_at IS NOT NULL
      UNION ALL SELECT max(started_at) FROM run WHERE finished_at IS NULL
      UNION ALL SELECT max(lease_until) FROM run
        WHERE finished_at IS NULL AND lease_until > ${engine.later(`(lease_seconds + ${clockToleranceSeconds})`)}
      UNION ALL SELECT max(ends_at) FROM lease
        WHERE ends_at > ${engine.later(workLeaseSeconds + clockToleranceSeconds)}) AS known`,
    [],
  );
  const secondsUntil = (instant: string | number | null | undefined) =>
    (new Date(instant ?? 0).getTime() - Date.parse(row?.now ?? "")) / 1000;
  if (secondsUntil(row?.latest) > clockToleranceSeconds) {
    return `a run or lease of ${row?.latest} is in the future: the clock of the database was set back; history-retention removes runs more than three hours ahead`;
  }
  const ahead = Math.round(secondsUntil(Date.now()));
  if (Math.abs(ahead) <= clockToleranceSeconds) return undefined;
  return `the clock of this machine is ${Math.abs(ahead)} s ${ahead > 0 ? "ahead of" : "behind"} that of the database`;
}
