import { ServiceError } from "../base/errors.ts";
import type { Database } from "../database/database.ts";
import { findChangedFingerprints } from "./changes.ts";
import { findGenerationState, findPreviousGeneration, type Generation, listGenerations } from "./generation.ts";
import { type CurrentChange, rollbackGeneration, selectGeneration } from "./generation-current.ts";

/**
 * Makes a brand's previous generation current again.
 * @param onlyFrom refuses if another one is current by now
 * @returns undefined if it has none
 * @throws ServiceError `conflict`
 */
export async function rollbackPersonalization(
  database: Database,
  brand: string,
  onlyFrom?: number,
): Promise<CurrentChange | undefined> {
  const generations = await findPreviousGeneration(database, brand);
  if (generations === undefined) return undefined;
  const { current: from, previous: to } = generations;
  const fingerprints = await findChangedFingerprints(database, from, to);
  return await rollbackGeneration(database, brand, { from, to, fingerprints }, onlyFrom);
}

/**
 * Makes any stored generation of a brand current, an earlier or a later one.
 * @param onlyFrom refuses if another one is current by now
 * @throws ServiceError `not_found`, with the brand's stored generations, or `conflict`
 */
export async function selectPersonalization(
  database: Database,
  brand: string,
  to: number,
  onlyFrom?: number,
): Promise<CurrentChange> {
  const stored = await listStored(database, brand);
  const from = stored.find(({ isCurrent }) => isCurrent)?.id;
  if (from !== undefined && stored.some(({ id }) => id === to)) {
    const fingerprints = from === to ? [] : await findChangedFingerprints(database, from, to);
    const change = await selectGeneration(database, brand, { from, to, fingerprints }, onlyFrom);
    if (change !== undefined) return change;
  }
  const problem = await describeMissing(database, brand, to);
  const others = (await listStored(database, brand)).map(describeGeneration).join(", ");
  throw new ServiceError("not_found", `${problem}; stored generations of ${brand}: ${others || "none"}`);
}

async function listStored(database: Database, brand: string): Promise<Generation[]> {
  return (await listGenerations(database)).filter((generation) => generation.brand === brand);
}

async function describeMissing(database: Database, brand: string, id: number): Promise<string> {
  const found = await findGenerationState(database, id);
  if (found !== undefined && found.brand !== brand) return `generation ${id} is of ${found.brand}, not of ${brand}`;
  return found?.state === "loading" ? `generation ${id} is not complete` : `generation ${id} is not stored`;
}

const describeGeneration = ({ id, loadedAt, isCurrent }: Generation) =>
  `${id} (loaded ${loadedAt}${isCurrent ? ", current" : ""})`;
