import type { SQL } from "bun";

/**
 * Says which right the role lacks: each import creates tables in its schema, and drops those of
 * older generations, which only their owner may do.
 */
export async function findMissingRight(sql: SQL): Promise<string | undefined> {
  const [found] = await sql`
    SELECT
      quote_ident(current_user) AS role,
      quote_ident(current_schema()) AS schema,
      current_setting('search_path') AS search_path,
      has_schema_privilege(current_schema(), 'CREATE') AS may_create,
      (
        SELECT tableowner
        FROM pg_tables
        WHERE schemaname = current_schema()
          AND tablename = 'generation'
          AND NOT pg_has_role(tableowner, 'USAGE')
      ) AS other_owner`;
  const { role, schema, search_path: path, may_create: mayCreate, other_owner: otherOwner } = found;
  if (schema === null) return `the role ${role} may not use any schema of its search_path (${path})`;
  if (!mayCreate) return `the role ${role} may not create tables: GRANT CREATE ON SCHEMA ${schema} TO ${role}`;
  if (otherOwner !== null) return `the tables belong to the role ${otherOwner}: use it instead of ${role}`;
  return undefined;
}

/** Says which table the role may not read. Each import creates tables, which belong to the role that imports. */
export async function findUnreadable(sql: SQL): Promise<string | undefined> {
  const [found] = await sql<{ role: string; name: string }[]>`
    SELECT current_user AS role, relname AS name
    FROM pg_class
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
      AND relkind = 'r'
      AND NOT has_table_privilege(oid, 'SELECT')
    ORDER BY relname
    LIMIT 1`;
  return found && `the role ${found.role} may not read the table ${found.name}: use the role of DATABASE_URL`;
}
