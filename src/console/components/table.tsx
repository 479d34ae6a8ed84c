/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { formatNumber } from "../../format.ts";

interface NumericColumn {
  readonly number: string;
}

/** A right-aligned column of numbers. */
export const numeric = (title: string): NumericColumn => ({ number: title });

interface TableProps {
  readonly columns: readonly (string | NumericColumn)[];
  readonly label: string;
  readonly children?: Child;
}

/**
 * A table that scrolls on its own when the page is narrow; focusable, so that the keyboard can
 * scroll it.
 */
export function Table({ columns, label, children }: TableProps) {
  return (
    <section class="table" tabindex={0} aria-label={`Table: ${label}`}>
      <table>
        <thead>
          <tr>
            {columns.map((column) =>
              typeof column === "string" ? (
                <th scope="col">{column}</th>
              ) : (
                <th scope="col" class="number">
                  {column.number}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface NumberCellProps {
  readonly value: number | null;
  /** Shown instead of null. */
  readonly otherwise?: string;
}

export const NumberCell = ({ value, otherwise = "" }: NumberCellProps) => (
  <td class="number">{value === null ? otherwise : formatNumber(value)}</td>
);
