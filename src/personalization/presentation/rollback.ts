import { ServiceError } from "../../base/errors.ts";
import type { Database } from "../../database/database.ts";
import { findPresentationBrand, listPresentations, type PresentationChange, selectPresentation } from "./store.ts";

/**
 * Makes a brand's previous presentation current again, or any stored one.
 * @returns undefined if it has no previous one
 * @param onlyFrom refuses if another one is current by now
 * @throws ServiceError `not_found`, with the brand's stored presentations, or `conflict`
 */
export async function rollbackPresentation(
  database: Database,
  brand: string,
  to: number | undefined,
  onlyFrom?: number,
): Promise<PresentationChange | undefined> {
  const change = await selectPresentation(database, brand, to, onlyFrom);
  if (change !== undefined || to === undefined) return change;
  const other = await findPresentationBrand(database, to);
  const problem =
    other === undefined ? `presentation ${to} is not stored` : `presentation ${to} is of ${other}, not of ${brand}`;
  const stored = (await listPresentations(database, brand)).map(
    ({ id, loadedAt, isCurrent }) => `${id} (loaded ${loadedAt}${isCurrent ? ", current" : ""})`,
  );
  throw new ServiceError("not_found", `${problem}; stored presentations of ${brand}: ${stored.join(", ") || "none"}`);
}
