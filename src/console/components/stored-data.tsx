/** @jsxImportSource hono/jsx */
import { formatNumber, pluralize } from "../../base/format.ts";
import type { Generation } from "../../personalization/generation.ts";
import { elementId, urlWithQuery } from "../urls.ts";
import { Time } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

interface TotalsProps {
  readonly productCount: number;
  /** The current generation of each brand. */
  readonly current: readonly Generation[];
}

export function Totals({ productCount, current }: TotalsProps) {
  const sum = (key: "skus" | "rows") => current.reduce((total, generation) => total + generation[key], 0);
  const totals: readonly (readonly [count: number, one: string, many: string, url?: string])[] = [
    [productCount, "product", "products", "/products"],
    [sum("skus"), "SKU with personalization", "SKUs with personalization", "/personalization"],
    [sum("rows"), "personalization row", "personalization rows", "/personalization"],
    [current.length, "brand", "brands"],
  ];
  return (
    <ul class="totals">
      {totals.map(([count, one, many, url]) => {
        const noun = count === 1 ? one : many;
        return (
          <li>
            <span class="count">{formatNumber(count)}</span>{" "}
            {url === undefined ? <span>{noun}</span> : <a href={url}>{noun}</a>}
          </li>
        );
      })}
    </ul>
  );
}

type CurrentGenerationsProps = { readonly generations: readonly Generation[]; readonly now: number };

export const CurrentGenerations = ({ generations, now }: CurrentGenerationsProps) => (
  <Table
    columns={columnsOf(generations, now)}
    rows={generations.filter(({ isCurrent }) => isCurrent)}
    label="Brands"
    idOf={({ brand }) => elementId("brand", brand)}
  />
);

const columnsOf = (generations: readonly Generation[], now: number): readonly Column<Generation>[] => [
  {
    title: "Brand",
    cell: ({ brand }) => <a href={urlWithQuery("/personalization", { brand })}>{brand}</a>,
    class: "name",
  },
  { title: "Generation", value: ({ id }) => `${id}` },
  { title: "Current since", cell: ({ since, loadedAt }) => <Time at={since ?? loadedAt} now={now} /> },
  { title: "SKUs", value: ({ skus }) => skus, isNumber: true },
  { title: "Styles", value: ({ styles }) => styles, isNumber: true },
  { title: "Choices", value: ({ choices }) => choices, isNumber: true },
  { title: "Rows", value: ({ rows }) => rows, isNumber: true },
  {
    title: "Versions",
    cell: ({ brand }) => (
      <a href={urlWithQuery("/personalization/versions", { brand })} id={elementId("versions", brand)}>
        {pluralize(generations.filter((other) => other.brand === brand).length, "generation")}
      </a>
    ),
  },
];
