import { personalizationImportName } from "../config/jobs.ts";
import type { Database } from "../database/database.ts";
import { removeBrandGenerations } from "../database/generation-removal.ts";
import { findRunUnderWay } from "../database/run.ts";
import { ServiceError } from "../errors.ts";

/**
 * Removes a brand's personalization, with all its generations.
 * @returns the number of generations; 0 when the brand has none
 * @throws ServiceError `unavailable` while an import of the brand is running
 */
export async function removePersonalization(database: Database, brand: string): Promise<number> {
  const running = await findRunUnderWay(database, personalizationImportName, brand);
  if (running === undefined) return await removeBrandGenerations(database, brand);
  throw new ServiceError(
    "unavailable",
    `run ${running.id} is importing the personalization of ${brand} since ${running.startedAt}; try again when it has finished`,
  );
}
