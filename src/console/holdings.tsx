/** @jsxImportSource hono/jsx */
import type { Generation } from "../database/generation.ts";
import { number } from "./format.ts";
import { addressOf } from "./page.ts";
import { Table, Time } from "./parts.tsx";

export function Tiles({ products, current }: { readonly products: number; readonly current: readonly Generation[] }) {
  const sum = (of: (generation: Generation) => number | null) =>
    current.reduce((total, one) => total + (of(one) ?? 0), 0);
  const tiles = [
    [products, "products", "/products"],
    [sum(({ skus }) => skus), "SKUs with personalization", "/personalization"],
    [sum(({ rows }) => rows), "rows of personalization", "/personalization"],
    [current.length, current.length === 1 ? "brand" : "brands", undefined],
  ] as const;
  return (
    <ul class="tiles">
      {tiles.map(([count, text, address]) => (
        <li>
          <span class="count">{number(count)}</span>{" "}
          {address === undefined ? <span>{text}</span> : <a href={address}>{text}</a>}
        </li>
      ))}
    </ul>
  );
}

export function Brands({ generations, now }: { readonly generations: readonly Generation[]; readonly now: number }) {
  return (
    <Table
      head={["Brand", "Generation", "Current since", "SKUs", "Styles", "Choices", "Rows", "Compare"]}
      label="Brands"
    >
      {generations
        .filter(({ isCurrent }) => isCurrent)
        .map((generation) => {
          const { brand, id, since, loadedAt, skus, styles, choices, rows } = generation;
          const earlier = generations.find((other) => other.brand === brand && other.id < id);
          return (
            <tr>
              <th scope="row">{brand}</th>
              <td>{id}</td>
              <td>
                <Time at={since ?? loadedAt} now={now} />
              </td>
              {[skus, styles, choices, rows].map((count) => (
                <td class="number">{count === null ? "not counted" : number(count)}</td>
              ))}
              <td>
                {earlier === undefined ? (
                  <span class="quiet">nothing earlier</span>
                ) : (
                  <a href={addressOf("/personalization/difference", { brand, from: earlier.id, to: id })}>
                    with generation {earlier.id}
                  </a>
                )}
              </td>
            </tr>
          );
        })}
    </Table>
  );
}
