import type { SQL } from "bun";
import type { Cell, NewRows } from "../engine.ts";

/** Rows per INSERT. More are no faster. */
const rowsPerStatement = 500;

export async function load<Row>(sql: SQL, { table, columns, rows, append }: NewRows<Row>): Promise<void> {
  // Named values are looked up one by one, so hundreds of names take longer than the insertion.
  const placeholders = `(${columns.map(() => "?").join(", ")})`;
  const statementFor = (count: number) =>
    `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array(count).fill(placeholders).join(", ")}`;
  const full = statementFor(rowsPerStatement);
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    const end = Math.min(start + rowsPerStatement, rows.length);
    const cells: Cell[] = [];
    for (let index = start; index < end; index++) append(cells, rows[index] as Row);
    await sql.unsafe(end - start === rowsPerStatement ? full : statementFor(end - start), cells);
  }
}
