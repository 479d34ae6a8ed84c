import type { SQL } from "bun";

/** The tables that hold the rows of generations, by name. */
export async function listGenerationTables(sql: SQL): Promise<string[]> {
  const isEmbedded = sql.options.adapter === "sqlite";
  const rows: { name: string }[] = await sql.unsafe(
    isEmbedded
      ? "SELECT name FROM sqlite_master WHERE type = 'table'"
      : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  );
  return rows
    .map(({ name }) => name)
    .filter((name) => /^generation_\d/.test(name))
    .toSorted();
}

/** The number of rows in each of these tables. */
export async function countGenerationRows(sql: SQL): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await listGenerationTables(sql)) {
    const [row] = await sql.unsafe(`SELECT CAST(count(*) AS INTEGER) AS rows FROM ${table}`);
    counts[table] = row.rows;
  }
  return counts;
}
