/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { formatNumber } from "../../base/format.ts";

export type CellValue = string | number | null;

export interface Column<Row> {
  readonly title: string;
  /** Whether it has numbers, which are right-aligned. */
  readonly isNumber?: boolean;
  /** Whether its cells are the headers of their rows, instead of the first column's. */
  readonly isHeader?: boolean;
  readonly class?: string;
  /** The plain value; a CSV file has only the columns with one. */
  readonly value?: (row: Row) => CellValue;
  /** Renders the cell; by default, it is the value. */
  readonly cell?: (row: Row) => Child;
}

interface TableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly label: string;
  /** Returns a stable id, so that a refresh keeps the focus in the row. */
  readonly idOf?: (row: Row) => string;
  /** Shown instead if there are no rows. */
  readonly children?: Child;
}

/**
 * A table. On a phone each row becomes a card, in which every cell has its column's title. On other
 * narrow pages it scrolls on its own; it can get the focus, so that the keyboard can scroll it.
 */
export function Table<Row>({ columns, rows, label, idOf, children }: TableProps<Row>) {
  if (rows.length === 0 && children !== undefined) return <>{children}</>;
  const header = columns.find(({ isHeader }) => isHeader) ?? columns[0];
  return (
    <section class="table" tabindex={0} aria-label={`Table: ${label}`}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th scope="col" {...classOf(isNumber && "number")}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr id={idOf?.(row)}>{columns.map((column) => cellOf(column, row, column === header))}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function cellOf<Row>({ title, isNumber, class: name, value, cell }: Column<Row>, row: Row, isHeader: boolean) {
  const content = cell === undefined ? toText(value?.(row)) : cell(row);
  const attributes = { "data-label": title, ...classOf(isNumber && "number", name) };
  return isHeader ? (
    <th scope="row" {...attributes}>
      {content}
    </th>
  ) : (
    <td {...attributes}>{content}</td>
  );
}

const toText = (value?: CellValue) => (typeof value === "number" ? formatNumber(value) : value);

function classOf(...names: readonly (string | false | undefined)[]) {
  const present = names.filter((name) => name);
  return present.length === 0 ? {} : { class: present.join(" ") };
}
