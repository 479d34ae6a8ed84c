import type { Database, Queryable, Transaction } from "../database/database.ts";

/**
 * The run's supervisor notices within seconds.
 * @param by name of the person
 * @returns whether the run was in progress
 */
export async function cancelRun(database: Database, id: number, by: string): Promise<boolean> {
  return await database.inTransaction(async ({ sql }) => {
    const { count } = await sql`
      UPDATE run SET cancelled = coalesce(cancelled, ${`cancelled by ${by}`}) WHERE id = ${id} AND finished_at IS NULL`;
    return count > 0;
  });
}

/**
 * Keeps a brand's import in progress from undoing the transaction's change: with the brand's lock,
 * the import checks `requireUnderWay`.
 * @param by the operation that cancels it
 */
export async function cancelImport({ sql }: Transaction, job: string, brand: string, by: string): Promise<void> {
  await sql`
    UPDATE run SET cancelled = coalesce(cancelled, ${`cancelled by ${by}`})
    WHERE job = ${job} AND brand = ${brand} AND finished_at IS NULL`;
}

export async function findCancellation({ sql }: Queryable, id: number): Promise<string | undefined> {
  const [run] = await sql<{ cancelled: string | null }[]>`SELECT cancelled FROM run WHERE id = ${id}`;
  return run?.cancelled ?? undefined;
}
