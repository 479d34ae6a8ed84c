import type { SQL } from "bun";
import type { Cell, NewRows } from "../engine.ts";

/** Approximate number of characters per write. */
const chunkLength = 256 * 1024;
/** Bytes formatted at once, because their text briefly takes four times as much memory. */
const sliceBytes = 64 * 1024;

const special = /[\\\t\n\r]/;
const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

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
      const cell = cells[index] as Cell;
      if (index > 0) chunk += "\t";
      if (!(cell instanceof Uint8Array)) {
        chunk += formatCell(cell);
        continue;
      }
      // The backslash of a hexadecimal value is escaped, too.
      chunk += "\\\\x";
      for (let start = 0; start < cell.length; start += sliceBytes) {
        chunk += toHex(cell, start);
        if (chunk.length < chunkLength) continue;
        await writer.write(chunk);
        chunk = "";
      }
    }
    chunk += "\n";
    if (chunk.length < chunkLength) continue;
    await writer.write(chunk);
    chunk = "";
  }
  await writer.write(chunk);
  await writer.close();
}

function formatCell(cell: string | number | null): string | number {
  if (cell === null) return "\\N";
  if (typeof cell === "number") return cell;
  // Few cells need escaping, and one test of each is cheaper than replacing in all.
  return special.test(cell) ? cell.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character) : cell;
}

function toHex(bytes: Uint8Array, start: number): string {
  const length = Math.min(sliceBytes, bytes.length - start);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString("hex");
}
