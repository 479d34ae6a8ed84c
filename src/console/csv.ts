import type { Page } from "../http/page.ts";
import type { CellValue, Column } from "./components/table.tsx";

export interface TableFile {
  /** Without the extension. */
  readonly name: string;
  readonly lines: readonly (readonly CellValue[])[];
}

export function toTableFile<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): TableFile {
  const withValues = columns.flatMap(({ title, value }) => (value === undefined ? [] : [{ title, value }]));
  return {
    name,
    lines: [withValues.map(({ title }) => title), ...rows.map((row) => withValues.map(({ value }) => value(row)))],
  };
}

export function csvPage({ name, lines }: TableFile): Page {
  return {
    type: "text/csv; charset=utf-8",
    // Without a byte order mark, spreadsheets guess another encoding.
    body: `\uFEFF${lines.map((cells) => `${cells.map(toCsv).join(",")}\r\n`).join("")}`,
    headers: { "Cache-Control": "no-store", "Content-Disposition": `attachment; filename="${name}.csv"` },
  };
}

/**
 * Spreadsheets run a text that begins with one of these as a formula. Where the comma is the decimal
 * separator, they also begin a cell after a semicolon.
 */
const formulaStart = /(?:^|[;\t\r\n])\s*(?=[=+\-@＝＋－＠\t\r\n])/g;

function toCsv(value: CellValue): string {
  if (value === null) return "";
  if (typeof value === "number") return `${value}`;
  const text = value.replace(formulaStart, "$&'");
  return /[",;\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
