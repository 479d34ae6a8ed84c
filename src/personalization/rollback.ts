import { ServiceError } from "../base/errors.ts";
import type { Database } from "../database/database.ts";
import { cancelImport } from "../jobs/claim.ts";
import {
  type CurrentChange,
  describeNoneStored,
  findChange,
  findCurrent,
  makeCurrent,
  requireCurrent,
  type VersionKind,
} from "./versions.ts";

/**
 * Makes another stored version of a brand current.
 * @param to undefined for the previous one, which keeps its own previous one, so that the next
 *   rollback goes further back; any other one gets the current one as its previous one
 * @param onlyFrom refuses if another one is current
 * @returns undefined if no version was current before
 * @throws ServiceError `not_found`, with the brand's stored versions, or `conflict`, also for a brand
 *   without a current version
 */
export async function rollBack(
  database: Database,
  kind: VersionKind,
  brand: string,
  to?: number,
  onlyFrom?: number,
): Promise<CurrentChange | undefined> {
  const compared = await findChange(database, kind, brand, to);
  if (compared !== undefined) {
    const isOther = compared.from !== compared.to;
    const difference = isOther ? await kind.findDifference(database, brand, compared.from, compared.to) : [];
    const change = await database.inTransaction(async (transaction) => {
      const { sql } = transaction;
      await transaction.lock({ brand });
      const change = await findChange(transaction, kind, brand, to);
      if (change === undefined) return undefined;
      requireCurrent(kind, brand, change.from, onlyFrom);
      if (change.from === change.to) return change;
      if (to !== undefined) {
        // Takes the version out of the chain of previous ones first, so that the chain has no loop,
        // and repeated rollbacks reach each version once.
        const table = sql(kind.noun);
        await sql`UPDATE ${table} SET previous = (SELECT previous FROM ${table} WHERE id = ${to}) WHERE previous = ${to}`;
        await sql`UPDATE ${table} SET previous = ${change.from} WHERE id = ${to}`;
      }
      await cancelImport(transaction, kind.job, brand, `the rollback to ${kind.noun} ${change.to}`);
      const fingerprints = change.to === compared.to ? difference : undefined;
      await makeCurrent(transaction, kind, brand, change.to, { from: compared.from, fingerprints });
      return change;
    });
    if (change !== undefined) return change;
  }
  if ((await findCurrent(database, kind, brand)) === undefined) {
    throw new ServiceError("conflict", await describeNoneStored(database, kind, brand));
  }
  if (to === undefined) return undefined;
  throw await notStored(database, kind, brand, to);
}

async function notStored(
  { sql }: Database,
  { noun, versions, current }: VersionKind,
  brand: string,
  id: number,
): Promise<ServiceError> {
  const [found] = await sql<{ brand: string; state: string }[]>`
    SELECT brand, state FROM ${sql.unsafe(versions)} AS version WHERE id = ${id}`;
  const stored = await sql<{ id: number; loadedAt: string; current: number | null }[]>`
    SELECT version.id, loaded_at AS "loadedAt", now.id AS current FROM ${sql.unsafe(versions)} AS version
    LEFT JOIN ${sql.unsafe(current)} AS now ON now.id = version.id
    WHERE version.brand = ${brand} AND state = 'complete' ORDER BY version.id DESC`;
  const problem =
    found !== undefined && found.brand !== brand
      ? `is of ${found.brand}, not of ${brand}`
      : `is not ${found?.state === "loading" ? "complete" : "stored"}`;
  const others = stored.map(
    ({ id, loadedAt, current }) => `${id} (loaded ${loadedAt}${current === null ? "" : ", current"})`,
  );
  return new ServiceError(
    "not_found",
    `${noun} ${id} ${problem}; stored ${noun}s of ${brand}: ${others.join(", ") || "none"}`,
  );
}
