import { SQL } from "bun";

/** Tables of which a restored store keeps nothing: rights of processes, and what caches were told. */
const leftTables = [
  ...["lease", "operator_session", "change", "generation_list", "purge_target"],
  ...["schema_migration", "schema_minimum"],
];

/** What is in progress stays behind. */
const kept: Readonly<Record<string, string>> = {
  generation: "state = 'complete'",
  run: "finished_at IS NOT NULL",
};

/** Of a generation that is being loaded, rows are committed too. */
function conditionOf(table: string): string {
  const generation = table.match(/^generation_(\d+)_/)?.[1];
  return generation === undefined
    ? (kept[table] ?? "TRUE")
    : `EXISTS (SELECT 1 FROM generation WHERE id = ${generation} AND ${kept.generation})`;
}

/** One row for each table that may be empty otherwise. Nothing acts on them. */
const at = "2026-01-01T00:00:00.000Z";
const markers = [
  `INSERT INTO job_pause (job, brand, paused_at, paused_by) VALUES ('catalog-sync', 'marker', '${at}', 'a test')`,
  `INSERT INTO audit_record (begun_at, operator, client, action, subject) VALUES ('${at}', 'a', 'b', 'c', 'marker')`,
  `INSERT INTO presentation (brand, loaded_at, entries, feed, document) VALUES ('marker', '${at}', 0, '{}', '{}')`,
  `INSERT INTO product_removal (removed_at, products) VALUES ('${at}', 0)`,
  `INSERT INTO product_news (id, noted_at) VALUES (-1, '${at}')`,
  "INSERT INTO push_queue (product, deliveries, due_at) VALUES (-1, 1, '9999-01-01T00:00:00.000Z')",
];
const removeMarkers = [
  "DELETE FROM job_pause WHERE brand = 'marker'",
  "DELETE FROM audit_record WHERE subject = 'marker'",
  "DELETE FROM presentation WHERE brand = 'marker'",
  `DELETE FROM product_removal WHERE removed_at = '${at}'`,
  "DELETE FROM product_news WHERE id = -1",
  "DELETE FROM push_queue WHERE product = -1",
];

/** A hash of each row, by table. */
type Rows = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads all tables that a restored store has to have. */
export async function readKeptRows(url: string): Promise<Rows> {
  await using sql = new SQL(url, { max: 1 });
  const tables = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)`;
  const rows = new Map<string, Set<string>>();
  for (const { name } of tables) {
    if (leftTables.includes(name)) continue;
    // The tables of a generation may be removed meanwhile.
    const hashes = await sql
      .unsafe<{ hash: string }[]>(`SELECT md5(one::text) AS hash FROM ${name} AS one WHERE ${conditionOf(name)}`)
      .catch(() => []);
    rows.set(name, new Set(hashes.map(({ hash }) => hash)));
  }
  return rows;
}

/**
 * Takes a backup of a store that changes meanwhile.
 * @returns the rows that it must have: those of before that were still there afterward
 */
export async function noteKeptRows(url: string, backUp: () => Promise<void>): Promise<Rows> {
  await using sql = new SQL(url, { max: 1 });
  for (const statement of markers) await sql.unsafe(statement);
  const before = await readKeptRows(url);
  await backUp();
  const after = await readKeptRows(url);
  for (const statement of removeMarkers) await sql.unsafe(statement);
  return new Map([...before].map(([table, rows]) => [table, rows.intersection(after.get(table) ?? new Set())]));
}

/** @returns how many rows a restored store lacks, as sentences by table */
export function findLostRows(expected: Rows, restored: Rows): string[] {
  return [...expected].flatMap(([table, rows]) => {
    const lost = rows.difference(restored.get(table) ?? new Set());
    return lost.size === 0 ? [] : [`a restored store lacks ${lost.size} of ${rows.size} rows of ${table}`];
  });
}
