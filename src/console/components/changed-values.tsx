/** @jsxImportSource hono/jsx */
import { urlWithQuery } from "../urls.ts";
import type { Item, ValueChange } from "../value-changes.ts";
import { EmptyState, Section } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

interface ChangedValuesProps {
  readonly item: Item;
  readonly changes: readonly ValueChange[];
  readonly brand: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

const titles = { sku: "SKU", style: "Style", group: "Choice group" } as const;
const rowTitles = { sku: "Style", style: "Line", group: "Choice" } as const;

export const ChangedValues = ({ item: { kind, name }, changes, brand, from, to }: ChangedValuesProps) => {
  const columns: readonly Column<ValueChange>[] = [
    { title: rowTitles[kind], value: ({ row }) => row },
    { title: "Field", cell: ({ field }) => <code>{field}</code> },
    { title: `Before, in ${from}`, cell: ({ before }) => <Value value={before} />, class: "break-anywhere" },
    { title: `After, in ${to}`, cell: ({ after }) => <Value value={after} />, class: "break-anywhere" },
  ];
  return (
    <Section id="values" title={`${titles[kind]} ${name}: old and new values`}>
      <Table columns={columns} rows={changes} label={`Changed values of ${name}`}>
        <EmptyState title={`The values of ${name} are the same in both generations.`} />
      </Table>
      <p>
        <a href={urlWithQuery("/personalization", { [kind]: name, brand })}>Look up {name}</a>
      </p>
    </Section>
  );
};

function Value({ value }: { readonly value: string | null }) {
  if (value === null) return <span class="muted">none</span>;
  return value === "" ? <span class="muted">empty</span> : value;
}
