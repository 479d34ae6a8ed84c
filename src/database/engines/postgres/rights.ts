import type { SQL } from "bun";

/** Imports create tables, and drop those of older generations, which only their owner may do. */
export async function findMissingRight(sql: SQL): Promise<string | undefined> {
  const [found] = await sql`
    SELECT
      quote_ident(current_user) AS role,
      quote_ident(current_schema()) AS schema,
      current_setting('search_path') AS search_path,
      current_setting('transaction_read_only') AS read_only,
      has_schema_privilege(current_schema(), 'CREATE') AS may_create,
      (
        SELECT tableowner
        FROM pg_tables
        WHERE schemaname = current_schema()
          AND tablename = 'generation'
          AND NOT pg_has_role(tableowner, 'USAGE')
      ) AS other_owner`;
  const { role, schema, search_path: path, may_create: mayCreate, other_owner: otherOwner } = found;
  if (found.read_only === "on") return "its transactions are read-only: see default_transaction_read_only";
  if (schema === null) return `the role ${role} may not use any schema of its search_path (${path})`;
  if (!mayCreate) return `the role ${role} may not create tables: GRANT CREATE ON SCHEMA ${schema} TO ${role}`;
  if (otherOwner !== null) return `the tables belong to the role ${otherOwner}: use it instead of ${role}`;
  return undefined;
}

const schema = "to_regnamespace(quote_ident(current_schema()))";

export const names = `
  SELECT relname AS name FROM pg_class WHERE relnamespace = ${schema}
  UNION ALL SELECT typname FROM pg_type WHERE typnamespace = ${schema}
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = ${schema}`;
