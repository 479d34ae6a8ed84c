import type { Queryable } from "./database.ts";

/** Work that one process at a time does: reading what was delivered, or purging one cache. */
export type WorkName = "push" | `purge ${string}`;

/**
 * Takes or renews the right to do some work.
 * @param holder what identifies the process
 * @param longestS for which any process takes the right
 * @returns whether the process has it for the next `seconds`
 */
export async function holdLease(
  { sql, engine }: Queryable,
  name: WorkName,
  holder: string,
  seconds: number,
  longestS = seconds,
): Promise<boolean> {
  const end = sql.unsafe(engine.later(seconds));
  // A longer lease was taken before the clock was set back.
  const longestEnd = sql.unsafe(engine.later(longestS));
  const rows = await sql`
    INSERT INTO lease (name, holder, ends_at) VALUES (${name}, ${holder}, ${end})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
    WHERE lease.holder = excluded.holder OR lease.ends_at < ${sql.unsafe(engine.now)} OR lease.ends_at > ${longestEnd}
    RETURNING 1`;
  return rows.length > 0;
}

/**
 * Renews the right of a process in the middle of some work.
 * @returns whether no other process has had it since the process took it
 */
export async function renewLease(
  { sql, engine }: Queryable,
  name: WorkName,
  holder: string,
  seconds: number,
): Promise<boolean> {
  const rows = await sql`
    UPDATE lease SET ends_at = ${sql.unsafe(engine.later(seconds))} WHERE name = ${name} AND holder = ${holder}
    RETURNING 1`;
  return rows.length > 0;
}

/** Lets another process take over at once. */
export async function releaseLease({ sql }: Queryable, name: WorkName, holder: string): Promise<void> {
  await sql`DELETE FROM lease WHERE name = ${name} AND holder = ${holder}`;
}
