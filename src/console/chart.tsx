/** @jsxImportSource hono/jsx */
import { counted, exact, number } from "./format.ts";
import { Table } from "./parts.tsx";

export interface Series {
  readonly name: string;
  /** In the order of their times. */
  readonly points: readonly Point[];
}

interface Point {
  readonly at: string;
  readonly value: number;
}

/** Of the drawing, in its own units; text is as large as it would be at 1:1. */
const width = 420;
const height = 150;
const margin = { left: 46, right: 8, top: 14, bottom: 22 };
/** Ways to draw a line that differ without colour too; after these they come again. */
const kinds = 6;

/** The next larger number that is easy to read. */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const scale = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 7.5, 10].find((step) => step * scale >= value) ?? 10) * scale;
}

/** Values over time as lines, with the same as a table. */
export function Chart({
  id,
  title,
  series,
}: {
  readonly id: string;
  readonly title: string;
  readonly series: Series[];
}) {
  const points = series.flatMap((line) => line.points);
  const times = points.map(({ at }) => Date.parse(at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const top = roundUp(Math.max(...points.map(({ value }) => value)));
  const x = (at: string) => {
    const share = last === first ? 0.5 : (Date.parse(at) - first) / (last - first);
    return Math.round(margin.left + share * (width - margin.left - margin.right));
  };
  const y = (value: number) =>
    Math.round(height - margin.bottom - (value / top) * (height - margin.top - margin.bottom));
  const toPath = (line: Series) => line.points.map(({ at, value }) => `${x(at)},${y(value)}`).join(" ");
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={`${id}-title ${id}-description`}>
        <title id={`${id}-title`}>{title}</title>
        <desc id={`${id}-description`}>{series.map(describe).join(" ")}</desc>
        {[top, top / 2, 0].map((value) => (
          <g class="grid">
            <line x1={margin.left} x2={width - margin.right} y1={y(value)} y2={y(value)} />
            <text x={margin.left - 6} y={y(value) + 4} text-anchor="end">
              {number(value)}
            </text>
          </g>
        ))}
        {series.map((line, index) => (
          <g class={`line kind-${index % kinds}`}>
            <polyline points={toPath(line)} />
            {line.points.map(({ at, value }) => (
              <circle cx={x(at)} cy={y(value)} r="2.5" />
            ))}
          </g>
        ))}
        <g class="axis">
          <text x={margin.left} y={height - 6}>
            {dayAndTime(first)}
          </text>
          {last === first ? (
            ""
          ) : (
            <text x={width - margin.right} y={height - 6} text-anchor="end">
              {dayAndTime(last)}
            </text>
          )}
        </g>
      </svg>
      <ul class="legend">
        {series.map((line, index) => (
          <li>
            <svg viewBox="0 0 24 10" aria-hidden="true" class={`line kind-${index % kinds}`}>
              <polyline points="1,5 23,5" />
              <circle cx="12" cy="5" r="2.5" />
            </svg>
            {line.name}
          </li>
        ))}
      </ul>
      <details>
        <summary>The same as a table</summary>
        <Table head={["Brand", "Finished", "Count"]} label={title}>
          {series.flatMap((line) =>
            line.points.toReversed().map(({ at, value }) => (
              <tr>
                <th scope="row">{line.name}</th>
                <td>
                  <time datetime={at}>{exact(at)}</time>
                </td>
                <td class="number">{number(value)}</td>
              </tr>
            )),
          )}
        </Table>
      </details>
    </figure>
  );
}

const dayAndTime = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

function describe({ name, points }: Series): string {
  const values = points.map(({ value }) => value);
  const last = values.at(-1) ?? 0;
  return `${name}: ${counted(points.length, "run")}, between ${number(Math.min(...values))} and ${number(Math.max(...values))}, last ${number(last)}.`;
}
