import type { Queryable, Transaction } from "./database.ts";
import type { Engine } from "./engines/engine.ts";

/** Each generation has its own tables, so that it is removed as a whole instead of row by row. */
export const tablesOf = (generation: number) => ({
  /** SKUs with their packed lines. */
  skus: `generation_${generation}_sku`,
  styles: `generation_${generation}_style`,
  groups: `generation_${generation}_group`,
});

export function generationStatements({ columnTypes }: Pick<Engine, "columnTypes">, generation: number): string[] {
  const { skus, styles, groups } = tablesOf(generation);
  const { key, bytes, clustered, singleProcess } = columnTypes;
  return [
    `CREATE TABLE ${skus} (sku ${key} NOT NULL ${clustered === "" ? "" : "PRIMARY KEY"}, lines ${bytes} NOT NULL) ${clustered} ${singleProcess}`,
    // rows: the JSON of its rows, separated by commas; empty when lines name a style that has none.
    // groups: numbers of the choice groups. skus: how many SKUs offer it. examples: the first, as JSON.
    `CREATE TABLE ${styles} (number INTEGER PRIMARY KEY, code ${key} NOT NULL, rows ${bytes} NOT NULL,
      groups ${bytes} NOT NULL, skus INTEGER NOT NULL, examples TEXT NOT NULL) ${singleProcess}`,
    // rows: the JSON of its choices; empty when styles name a group that has none.
    // styles: the numbers of the first styles that use it.
    `CREATE TABLE ${groups} (number INTEGER PRIMARY KEY, name ${key} NOT NULL, rows ${bytes} NOT NULL, styles ${bytes} NOT NULL) ${singleProcess}`,
  ];
}

export async function createGenerationTables({ sql, engine }: Transaction, generation: number): Promise<void> {
  for (const statement of generationStatements(engine, generation)) await sql.unsafe(statement);
}

/** Indexing takes less time once the rows are there. */
export async function indexGenerationTables({ sql, engine }: Transaction, generation: number): Promise<void> {
  const { skus, styles, groups } = tablesOf(generation);
  if (engine.columnTypes.clustered === "") await sql.unsafe(`ALTER TABLE ${skus} ADD PRIMARY KEY (sku)`);
  await sql.unsafe(`CREATE UNIQUE INDEX ${styles}_code ON ${styles} (code)`);
  await sql.unsafe(`CREATE UNIQUE INDEX ${groups}_name ON ${groups} (name)`);
}

export async function dropGenerationTables({ sql }: Queryable, generation: number): Promise<void> {
  for (const table of Object.values(tablesOf(generation))) await sql.unsafe(`DROP TABLE IF EXISTS ${table}`);
}
