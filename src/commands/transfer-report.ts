import type { Totals } from "../database/transfer/stream.ts";
import { formatNumber } from "../format.ts";

/** Rows by table, where all generations count together. */
export function toRows(totals: Totals): Readonly<Record<string, number>> {
  const rows: Record<string, number> = {};
  for (const [table, total] of Object.entries(totals)) {
    const name = table.replace(/^generation_\d+_/, "generation_");
    rows[name] = (rows[name] ?? 0) + total.rows;
  }
  return Object.fromEntries(Object.entries(rows).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Such as `12 product, 3 run`. */
export function describeRows(rows: Readonly<Record<string, number>>): string {
  const counts = Object.entries(rows).map(([table, count]) => `${table} ${formatNumber(count)}`);
  return counts.length === 0 ? "no rows" : counts.join(", ");
}
