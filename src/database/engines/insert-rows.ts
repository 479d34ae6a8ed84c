import type { SQL } from "bun";

export type Cell = string | number | Uint8Array | null;

/** Rows to insert into a table. */
export interface NewRows<Row> {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Appends a row's cells, in the order of the columns. */
  readonly append: (cells: Cell[], row: Row) => void;
}

/** Rows of one INSERT. More make it no faster. */
const rowsPerStatement = 500;

/**
 * Inserts rows into a table.
 * @param placeholder how a statement names its nth value, counted from 1
 * @param conflict clause after the values: what happens to keys that exist
 */
export async function insertRows<Row>(
  sql: SQL,
  placeholder: (place: number) => string,
  { table, columns, rows, append }: NewRows<Row>,
  conflict = "",
): Promise<void> {
  const placeholdersOf = (row: number) =>
    columns.map((_, column) => placeholder(row * columns.length + column + 1)).join(", ");
  const statementFor = (count: number) => {
    const values = Array.from({ length: count }, (_, row) => `(${placeholdersOf(row)})`).join(", ");
    return `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${values} ${conflict}`;
  };
  const full = statementFor(rowsPerStatement);
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    const end = Math.min(start + rowsPerStatement, rows.length);
    const cells: Cell[] = [];
    for (let index = start; index < end; index++) append(cells, rows[index] as Row);
    await sql.unsafe(end - start === rowsPerStatement ? full : statementFor(end - start), cells);
  }
}
