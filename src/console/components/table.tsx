/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { formatNumber } from "../../base/format.ts";

interface CommonColumn {
  readonly title: string;
  /** Whether it has numbers, which are right-aligned. */
  readonly isNumber?: boolean;
  /** Whether its cells are the headers of their rows, instead of the first column's. */
  readonly isHeader?: boolean;
  readonly class?: string;
}

export type CellValue = string | number | null;

/** A column with plain values, which the CSV file includes. */
export interface ValueColumn<Row> extends CommonColumn {
  readonly value: (row: Row) => CellValue;
  /** Renders the value on the page; by default as is. */
  readonly cell?: (row: Row) => Child;
}

interface CellColumn<Row> extends CommonColumn {
  readonly value?: undefined;
  readonly cell: (row: Row) => Child;
}

export type Column<Row> = ValueColumn<Row> | CellColumn<Row>;

interface TableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly label: string;
  /** Returns a stable id, so that a refresh keeps the focus in the row. */
  readonly idOf?: (row: Row) => string;
}

/**
 * A table. On a phone each row becomes a card, in which every cell has its column's title. On other
 * narrow pages it scrolls on its own; it can get the focus, so that the keyboard can scroll it.
 */
export function Table<Row>({ columns, rows, label, idOf }: TableProps<Row>) {
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
            <tr id={idOf?.(row)}>
              {columns.map((column) => (
                <Cell column={column} row={row} isHeader={column === header} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly isHeader: boolean;
}

function Cell<Row>({ column, row, isHeader }: CellProps<Row>) {
  const content = column.cell !== undefined ? column.cell(row) : column.value && toText(column.value(row));
  const attributes = classOf(column.isNumber && "number", column.class);
  return isHeader ? (
    <th scope="row" data-label={column.title} {...attributes}>
      {content}
    </th>
  ) : (
    <td data-label={column.title} {...attributes}>
      {content}
    </td>
  );
}

const toText = (value: CellValue) => (typeof value === "number" ? formatNumber(value) : value);

function classOf(...names: readonly (string | false | undefined)[]) {
  const present = names.filter((name) => name);
  return present.length === 0 ? {} : { class: present.join(" ") };
}
