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
    // Few cells need escaping, and one test of each is cheaper than replacing in all.
    const isPlain = !cells.some((cell) => typeof cell === "string" && special.test(cell));
    chunk += `${(isPlain ? cells : cells.map(escapeCell)).join("\t")}\n`;
    if (chunk.length < chunkLength) continue;
    await writer.write(chunk);
    chunk = "";
  }
  await writer.write(chunk);
  await writer.close();
}

const escapeCell = (cell: Cell) => `${cell}`.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character);
