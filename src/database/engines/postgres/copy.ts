import type { SQL } from "bun";
import type { Cell, NewRows } from "../insert-rows.ts";

/** Characters of one write. */
const chunkLength = 256 * 1024;

const special = /[\\\t\n\r]/;
const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** Loads rows with COPY, in its text format. */
export async function loadByCopy<Row>(sql: SQL, { table, columns, rows, append }: NewRows<Row>): Promise<void> {
  const writer = sql
    .unsafe(`COPY ${table} (${columns.join(", ")}) FROM STDIN`)
    .writable()
    .getWriter();
  const cells: Cell[] = [];
  let chunk = "";
  for (const row of rows) {
    cells.length = 0;
    append(cells, row);
    for (let index = 0; index < cells.length; index++) {
      chunk += `${index === 0 ? "" : "\t"}${formatCell(cells[index] as Cell)}`;
    }
    chunk += "\n";
    if (chunk.length < chunkLength) continue;
    await writer.write(chunk);
    chunk = "";
  }
  await writer.write(chunk);
  await writer.close();
}

function formatCell(cell: Cell): string | number {
  if (typeof cell === "number") return cell;
  // The backslash of a hexadecimal value is escaped too.
  if (typeof cell !== "string") return `\\\\x${Buffer.from(cell.buffer, cell.byteOffset, cell.length).toString("hex")}`;
  // Few cells need escaping, and one test of each is cheaper than replacing in all.
  return special.test(cell) ? cell.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character) : cell;
}
