import { ServiceError } from "../base/errors.ts";
import type { Database } from "../database/database.ts";
import { findRunUnderWay } from "../jobs/runs.ts";
import { type RemovedBrand, removeBrandGenerations } from "./generation-removal.ts";
import { jobsOfBrands } from "./options.ts";

/**
 * @param onlyFrom refuses if another generation is now current
 * @throws ServiceError `unavailable` while an import of the brand is running, or `conflict`
 */
export async function removePersonalization(
  database: Database,
  brand: string,
  onlyFrom?: number,
): Promise<RemovedBrand> {
  for (const job of jobsOfBrands) {
    const running = await findRunUnderWay(database, job, brand);
    if (running === undefined) continue;
    const noun = job === "presentation-import" ? "presentation" : "personalization";
    throw new ServiceError(
      "unavailable",
      `run ${running.id} is importing the ${noun} of ${brand} since ${running.startedAt}; try again when it has finished`,
    );
  }
  return await removeBrandGenerations(database, brand, onlyFrom);
}
