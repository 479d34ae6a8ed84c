import type { Database, Queryable } from "../database/database.ts";

/** The stored part of a session, which is not enough to use it. */
export interface StoredSession {
  /** Hash of the session's id. */
  readonly id: string;
  readonly operator: string;
  /** Hash of the session's id and of the operator's token. */
  readonly proof: string;
}

/** Also removes sessions that have expired. */
export async function saveSession(
  database: Database,
  { id, operator, proof }: StoredSession,
  seconds: number,
): Promise<void> {
  await database.inTransaction(async ({ sql, engine }) => {
    await sql`DELETE FROM operator_session WHERE expires_at <= ${sql.unsafe(engine.now)}`;
    await sql`
      INSERT INTO operator_session (id, operator, proof, expires_at)
      VALUES (${id}, ${operator}, ${proof}, ${sql.unsafe(engine.later(seconds))})`;
  });
}

export async function findSession({ read, engine }: Queryable, id: string): Promise<StoredSession | undefined> {
  const [session] = await read<StoredSession>(
    `SELECT id, operator, proof FROM operator_session WHERE id = $1 AND expires_at > ${engine.now}`,
    [id],
  );
  return session;
}

export async function removeSession(database: Database, id: string): Promise<void> {
  await database.inTransaction(({ sql }) => sql`DELETE FROM operator_session WHERE id = ${id}`);
}

/** Removes the sessions of all but these operators. */
export async function removeOtherSessions(database: Database, operators: readonly string[]): Promise<void> {
  // SQL has no empty lists, and no operator has the empty name.
  const kept = ["", ...operators];
  await database.inTransaction(({ sql }) => sql`DELETE FROM operator_session WHERE operator NOT IN ${sql(kept)}`);
}
