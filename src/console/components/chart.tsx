/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { formatCompactly, pluralize, utcTime } from "../../base/format.ts";
import { type Column, Table } from "./table.tsx";

export interface Series {
  readonly name: string;
  /** In chronological order. */
  readonly points: readonly { readonly at: string; readonly value: number }[];
  /** Whether a value holds until the next point; if not, the line connects the points directly. */
  readonly isStep?: boolean;
}

/** In units of the SVG's view box. */
const width = 420;
const height = 150;
const margin = { left: 52, right: 8, top: 14, bottom: 22 };
/** Line styles in the style sheet; each has its own color and dash pattern. */
const seriesStyles = 6;

/** Rounds up to a number that reads well on an axis. */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const scale = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 7.5, 10].find((step) => step * scale >= value) ?? 10) * scale;
}

interface ChartProps {
  readonly id: string;
  readonly title: string;
  readonly series: readonly Series[];
  /** Formats a value for the axis, which has little room. */
  readonly format?: (value: number) => string;
  /** The same values as a table, or a link to it. */
  readonly children?: Child;
}

const valueColumns: readonly Column<Series["points"][number] & Pick<Series, "name">>[] = [
  { title: "Brand", value: ({ name }) => name },
  { title: "Finished", cell: ({ at }) => <time datetime={at}>{utcTime(at)}</time> },
  { title: "Value", value: ({ value }) => value, isNumber: true },
];

export const Chart = ({ id, title, series, format = formatCompactly, children }: ChartProps) => (
  <figure class="chart" id={id}>
    <figcaption>
      <h3>{title}</h3>
    </figcaption>
    <Plot id={id} title={title} series={series} format={format} />
    <ul class="legend">
      {series.map(({ name }, index) => (
        <li>
          <svg viewBox="0 0 24 10" aria-hidden="true" class={`line series-${index % seriesStyles}`}>
            <polyline points="1,5 23,5" />
            <path class="points" d="M12,5h0" />
          </svg>
          {name}
        </li>
      ))}
    </ul>
    {children}
  </figure>
);

export const ChartTable = ({ title, series }: Pick<ChartProps, "title" | "series">) => (
  <Table
    columns={valueColumns}
    rows={series.flatMap(({ name, points }) => points.toReversed().map((point) => ({ name, ...point })))}
    label={title}
  />
);

function scaleOf(series: readonly Series[]) {
  const points = series.flatMap((line) => line.points);
  const times = points.map(({ at }) => Date.parse(at));
  const [firstMs, lastMs] = [Math.min(...times), Math.max(...times)];
  const maximum = roundUp(Math.max(...points.map(({ value }) => value)));
  const plotHeight = height - margin.top - margin.bottom;
  return {
    firstMs,
    lastMs,
    maximum,
    x: (at: string) => {
      const share = lastMs === firstMs ? 0.5 : (Date.parse(at) - firstMs) / (lastMs - firstMs);
      return Math.round(margin.left + share * (width - margin.left - margin.right));
    },
    y: (value: number) => Math.round(height - margin.bottom - (value / maximum) * plotHeight),
  };
}

function Plot({ id, title, series, format }: Required<Omit<ChartProps, "children">>) {
  const { firstMs, lastMs, maximum, x, y } = scaleOf(series);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={`${id}-title ${id}-description`}>
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-description`}>{series.map((each) => describe(each, format)).join(" ")}</desc>
      {[maximum, maximum / 2, 0].map((value) => (
        <g class="grid">
          <line x1={margin.left} x2={width - margin.right} y1={y(value)} y2={y(value)} />
          <text x={margin.left - 6} y={y(value) + 4} text-anchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {series.map(({ points, isStep }, index) => (
        <g class={`line series-${index % seriesStyles}`}>
          <polyline
            points={points
              .flatMap(({ at, value }, place) => {
                const before = points[place - 1];
                const corner = isStep && before !== undefined ? [`${x(at)},${y(before.value)}`] : [];
                return [...corner, `${x(at)},${y(value)}`];
              })
              .join(" ")}
          />
          <path class="points" d={points.map(({ at, value }) => `M${x(at)},${y(value)}h0`).join("")} />
        </g>
      ))}
      <g class="axis">
        <text x={margin.left} y={height - 6}>
          {toMinute(firstMs)}
        </text>
        {lastMs !== firstMs && (
          <text x={width - margin.right} y={height - 6} text-anchor="end">
            {toMinute(lastMs)}
          </text>
        )}
      </g>
    </svg>
  );
}

const toMinute = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

function describe({ name, points }: Series, format: (value: number) => string): string {
  const values = points.map(({ value }) => value);
  const [minimum, maximum, last] = [Math.min(...values), Math.max(...values), values.at(-1) ?? 0].map(format);
  return `${name}: ${pluralize(points.length, "run")}, between ${minimum} and ${maximum}, last ${last}.`;
}
