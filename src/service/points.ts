import { settlePoints, takePoints } from "../catalog/points.ts";
import type { Database } from "../database/database.ts";
import type { SharedPoints } from "../platforms/platform.ts";

/** The platform's request budget, shared by all processes with this store. */
export const sharedPoints = (database: Database): SharedPoints => ({
  take: (cost, floor) => takePoints(database, cost, floor),
  settle: (refund, reported) => settlePoints(database, refund, reported),
});
