import type { Database, Queryable, Transaction } from "../database/database.ts";

/**
 * Requests the end of a run; its supervisor, in any process, notices within seconds.
 * @param by who cancels it, for display
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
 * Cancels a brand's import in progress, so that it does not undo the transaction's change. The
 * import checks this with `requireUnderWay` when it has the brand's lock.
 * @param by what cancels it, for display
 */
export async function cancelImport({ sql }: Transaction, job: string, brand: string, by: string): Promise<void> {
  await sql`
    UPDATE run SET cancelled = coalesce(cancelled, ${`cancelled by ${by}`})
    WHERE job = ${job} AND brand = ${brand} AND finished_at IS NULL`;
}

/** Says who cancelled the run; undefined if nobody did. */
export async function findCancellation({ sql }: Queryable, id: number): Promise<string | undefined> {
  const [run] = await sql<{ cancelled: string | null }[]>`SELECT cancelled FROM run WHERE id = ${id}`;
  return run?.cancelled ?? undefined;
}
