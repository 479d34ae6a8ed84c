import { clockToleranceSeconds } from "../model/job.ts";
import type { Queryable } from "./database.ts";

/** What tells whether a clock is wrong. Times are ISO 8601 in UTC. */
export interface ClockReading {
  /** By the database's clock. */
  readonly now: string;
  /** The latest time that a run has, or that a lease has beyond its length; null if there is none. */
  readonly latest: string | null;
  /** How far this machine's clock is ahead of the database's. */
  readonly aheadSeconds: number;
}

/** Longer than any lease of an unrecorded length. */
const workLeaseSeconds = 60;

export async function readClock({ read, engine }: Queryable): Promise<ClockReading> {
  // An index has each maximum.
  const [row = { now: "", latest: null }] = await read<Omit<ClockReading, "aheadSeconds">>(
    `SELECT ${engine.now} AS now, max(at) AS latest FROM (
      SELECT max(finished_at) AS at FROM run WHERE finished_at IS NOT NULL
      UNION ALL SELECT max(started_at) FROM run WHERE finished_at IS NULL
      UNION ALL SELECT max(lease_until) FROM run
        WHERE finished_at IS NULL AND lease_until > ${engine.later(`(lease_seconds + ${clockToleranceSeconds})`)}
      UNION ALL SELECT max(ends_at) FROM lease
        WHERE ends_at > ${engine.later(workLeaseSeconds + clockToleranceSeconds)}) AS known`,
    [],
  );
  return { ...row, aheadSeconds: (Date.now() - Date.parse(row.now)) / 1000 };
}
