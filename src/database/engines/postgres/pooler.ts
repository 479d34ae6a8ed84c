import type { SQL } from "bun";
import { ServiceError } from "../../../base/errors.ts";

/**
 * A pooler refuses connection parameters, so the role must set them. Nothing else ends a statement,
 * or the transaction of a frozen process.
 */
const parametersOfRole = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];

export async function checkPooler(pooled: SQL, direct: SQL): Promise<string[]> {
  const describe = async (sql: SQL) => {
    const [row] = await sql<{ database: string; schema: string | null; role: string }[]>`
      SELECT current_database() AS database, current_schema() AS schema, current_user AS role`;
    if (row === undefined) throw new Error("the server described no connection");
    return row;
  };
  const found = await describe(pooled);
  const expected = await describe(direct);
  if (found.database !== expected.database || found.schema !== expected.schema) {
    const place = ({ database, schema }: typeof found) => `the schema ${schema} of the database ${database}`;
    const reason = `DATABASE_URL leads to ${place(found)}, and DATABASE_DIRECT_URL to ${place(expected)}`;
    throw new ServiceError("unavailable", `${reason}: set the same search_path on the role`);
  }
  const settings = await pooled<{ name: string }[]>`
    SELECT name FROM pg_settings WHERE name IN ${pooled(parametersOfRole)} AND setting = '0' ORDER BY name`;
  return settings.map(({ name }) => `the role ${found.role} has no ${name}`);
}
