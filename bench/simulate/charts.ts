const width = 760;
const left = 70;
const right = 190;
const top = 46;
const bottom = 56;
const plotHeight = 300;
const height = top + plotHeight + bottom;

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  readonly ticks: readonly number[];
  readonly format: (value: number) => string;
  readonly isLogarithmic: boolean;
}

/** With its title, which the chart's own title has for the other axis. */
export interface HorizontalAxis extends Axis {
  readonly title: string;
}

/** Distinct in light and dark, and for people who do not see colors: the lines also differ in dashes. */
const style = `
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .end { text-anchor: end; }
    .middle { text-anchor: middle; }
    .grid { stroke: #d1d9e0; }
    .line { fill: none; stroke-width: 2.5; }
    .s0 { stroke: #0969da; }
    .s1 { stroke: #bc4c00; stroke-dasharray: 8 4; }
    .s2 { stroke: #1a7f37; stroke-dasharray: 2 4; }
    .s3 { stroke: #8250df; stroke-dasharray: 12 4 2 4; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .grid { stroke: #3d444d; }
      .s0 { stroke: #4493f8; }
      .s1 { stroke: #f0883e; }
      .s2 { stroke: #3fb950; }
      .s3 { stroke: #ab7df8; }
    }
  `;

const scaleOf = ({ ticks, isLogarithmic }: Axis, from: number, length: number) => {
  const map = (value: number) => (isLogarithmic ? Math.log10(value) : value);
  const [low, high] = [map(ticks[0] ?? 0), map(ticks.at(-1) ?? 1)];
  return (value: number) => from + ((map(value) - low) / (high - low)) * length;
};

/** The names of lines that end close to each other are moved apart. */
function spread(places: readonly number[]): number[] {
  const order = places.map((_, index) => index).sort((a, b) => (places[a] ?? 0) - (places[b] ?? 0));
  const spreadPlaces = [...places];
  let last = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    last = Math.max(places[index] ?? 0, last + 17);
    spreadPlaces[index] = last;
  }
  return spreadPlaces;
}

/** A line chart that can be read in light and dark. Values beyond the axes are not drawn. */
export function lineChart(title: string, x: HorizontalAxis, y: Axis, series: readonly Series[]): string {
  const plotWidth = width - left - right;
  const toX = scaleOf(x, left, plotWidth);
  const toY = scaleOf(y, top + plotHeight, -plotHeight);
  const [lowest = 0, highest = 0] = [y.ticks[0], y.ticks.at(-1)];
  const drawn = series.map(({ points }) => points.filter(([, value]) => value >= lowest && value <= highest));
  const names = spread(drawn.map((points) => toY(points.at(-1)?.[1] ?? lowest)));
  const grid = [
    ...x.ticks.map(
      (tick) =>
        `  <text class="middle" x="${toX(tick).toFixed(1)}" y="${top + plotHeight + 20}">${escaped(x.format(tick))}</text>`,
    ),
    ...y.ticks.map((tick) => {
      const at = toY(tick).toFixed(1);
      return `  <line class="grid" x1="${left}" y1="${at}" x2="${left + plotWidth}" y2="${at}"/>
  <text class="end" x="${left - 8}" y="${(toY(tick) + 4).toFixed(1)}">${escaped(y.format(tick))}</text>`;
    }),
  ];
  const lines = drawn.map((points, index) => {
    const path = points.map(([px, py]) => `${toX(px).toFixed(1)},${toY(py).toFixed(1)}`).join(" ");
    const last = toX(points.at(-1)?.[0] ?? 0);
    return `  <polyline class="line s${index}" points="${path}"/>
  <text x="${(last + 8).toFixed(1)}" y="${((names[index] ?? 0) + 4).toFixed(1)}">${escaped(series[index]?.name ?? "")}</text>`;
  });
  const summaries = series.map(({ name, points }) => {
    const values = points.map(([px, py]) => `${x.format(px)}: ${y.format(py)}`);
    return `${name}: ${values.join(", ")}.`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">
  <title id="title">${escaped(title)}</title>
  <desc id="desc">${escaped(summaries.join(" "))}</desc>
  <style>${style}</style>
  <text class="title" x="${left}" y="22">${escaped(title)}</text>
${grid.join("\n")}
  <text class="middle" x="${left + plotWidth / 2}" y="${height - 12}">${escaped(x.title)}</text>
${lines.join("\n")}
</svg>
`;
}
