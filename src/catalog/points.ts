import { refill } from "../base/token-bucket.ts";
import { saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";
import type { SharedPoints } from "../platforms/platform.ts";

/** A budget of points that all processes of a store share and that refills over time. */
export interface Points {
  /** Never overstated. If a process was killed, its refunds are missing for a while. */
  readonly available: number;
  readonly maximum: number;
  readonly restoreRate: number;
  /** ISO 8601, by the database's clock. */
  readonly asOf: string;
  /** Until the first response reports the budget. */
  readonly isAssumed?: boolean;
}

/** A clock that was set back restores nothing. */
export function restorePoints(points: Points, now: string): Points {
  const passedS = Math.max(0, Date.parse(now) - Date.parse(points.asOf)) / 1000;
  const bucket = { size: points.maximum, perSecond: points.restoreRate };
  const available = refill(points.available, passedS, bucket);
  return { ...points, available, asOf: now };
}

/** The platform's request budget, shared by all processes with this store. */
export const sharedPoints = (database: Database): SharedPoints => ({
  take: (cost, floor) =>
    changePoints(database, (points) => {
      const missing = Math.min(cost + floor, points.maximum) - points.available;
      if (missing > 0) return [points, Math.ceil((missing / points.restoreRate) * 1000)];
      return [{ ...points, available: points.available - cost }, 0];
    }),
  settle: (refund, reported) =>
    changePoints(database, (stored) => {
      const { isAssumed, ...points } = { ...stored, available: stored.available + refund };
      if (reported === undefined) return [{ ...stored, available: points.available }, undefined];
      const { currentlyAvailable, maximumAvailable: maximum, restoreRate } = reported;
      // The report does not include requests in flight.
      const available = isAssumed ? currentlyAvailable : Math.min(currentlyAvailable, points.available);
      return [{ ...points, available, maximum, restoreRate }, undefined];
    }),
});

/** The lowest limits of any plan, until a response reports the budget. */
const assumed = { available: 1000, maximum: 1000, restoreRate: 100, isAssumed: true };

/** Changes the stored budget, one process at a time. */
function changePoints<Result>(database: Database, change: (points: Points) => [Points, Result]): Promise<Result> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    // On all engines, an update locks the row.
    const [row] = await sql<{ value: string; now: string }[]>`
      INSERT INTO cursor (name, value) VALUES ('platform-points', 'null')
      ON CONFLICT (name) DO UPDATE SET value = cursor.value
      RETURNING value, ${sql.unsafe(engine.now)} AS now`;
    const now = row?.now ?? "";
    const stored = JSON.parse(row?.value ?? "null") as Points | null;
    const [changed, result] = change(restorePoints(stored ?? { ...assumed, asOf: now }, now));
    await saveCursor(transaction, "platform-points", JSON.stringify(changed));
    return result;
  });
}
