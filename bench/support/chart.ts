import { names } from "./contenders.ts";
import type { Row } from "./measure.ts";
import { median } from "./statistics.ts";
import type { Operation } from "./targets.ts";

const width = 760;
/** Spare room for wider fonts. */
const margin = 20;
const labelWidth = 250;
const valueWidth = 70;
const barHeight = 18;
const rowHeight = 26;
const titleHeight = 40;

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`).replaceAll("`", "");

interface Bar {
  readonly label: string;
  readonly isOurs: boolean;
  readonly cpuS: number;
}

function barsOf(rows: readonly Row[], operation: Operation["name"]): Bar[] {
  return rows
    .filter((row) => row.operation === operation && row.kind === "200" && row.samples !== undefined)
    .map(({ name, samples = [] }) => ({
      label: names[name],
      isOurs: names[name].startsWith(names.ours),
      cpuS: median(samples.map(({ cpuS }) => cpuS)),
    }))
    .toSorted((a, b) => a.cpuS - b.cpuS);
}

function panel(title: string, bars: readonly Bar[], top: number): string {
  const most = Math.max(...bars.map(({ cpuS }) => cpuS));
  const room = width - labelWidth - valueWidth;
  const drawn = bars.map(({ label, isOurs, cpuS }, index) => {
    const y = top + titleHeight + index * rowHeight;
    const length = Math.max((cpuS / most) * room, 1);
    const baseline = y + barHeight - 5;
    return `  <text class="label" x="${labelWidth - 10}" y="${baseline}">${escaped(label)}</text>
  <rect class="${isOurs ? "ours" : "theirs"}" x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>
  <text x="${(labelWidth + length + 8).toFixed(1)}" y="${baseline}">${cpuS.toFixed(2)} s</text>`;
  });
  return `  <text class="title" x="${labelWidth}" y="${top + 24}">${escaped(title)}</text>\n${drawn.join("\n")}`;
}

/** A bar chart of CPU seconds per 10,000 responses. @param rows all of one size */
export function toSvg(rows: readonly Row[]): string {
  const panels = [
    ["Personalization, about 3 KB", barsOf(rows, "personalization")],
    ["Product, about 30 KB", barsOf(rows, "product")],
  ] as const;
  const heights = panels.map(([, bars]) => titleHeight + bars.length * rowHeight);
  const height = heights.reduce((sum, of) => sum + of, 10);
  const summaries = panels.map(
    ([title, bars]) => `${title}: ${bars.map(({ label, cpuS }) => `${label} ${cpuS.toFixed(2)} s`).join(", ")}.`,
  );
  const drawn = panels.map(([title, bars], index) => panel(title, bars, index === 0 ? 0 : (heights[0] ?? 0)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-margin} 0 ${width + margin} ${height}" width="${width + margin}" height="${height}" role="img" aria-labelledby="title desc">
  <title id="title">CPU seconds per 10,000 responses</title>
  <desc id="desc">${escaped(summaries.join(" "))}</desc>
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .label { text-anchor: end; }
    .ours { fill: #0969da; }
    .theirs { fill: #8c959f; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .ours { fill: #4493f8; }
      .theirs { fill: #6e7681; }
    }
  </style>
${drawn.join("\n")}
</svg>
`;
}
