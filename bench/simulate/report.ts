import type { Prediction } from "./fleet.ts";
import type { Freshness } from "./freshness.ts";
import type { Comparison } from "./validate.ts";

const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
export const shown = (value: number) => (Number.isFinite(value) ? format.format(value) : "unlimited");
export const percent = (share: number) => (Number.isFinite(share) ? `${format.format(share * 100)} %` : "too much");

/** Ratios near 1 differ in their misses. */
export const ratioText = (ratio: number) => `${(ratio * 100).toFixed(ratio > 0.99 ? 2 : 1)} %`;

export function timeText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "ever longer";
  if (seconds < 1) return `${shown(seconds * 1000)} ms`;
  if (seconds < 600) return `${shown(seconds)} s`;
  if (seconds < 36_000) return `${shown(seconds / 60)} min`;
  return seconds < 864_000 ? `${shown(seconds / 3600)} h` : `${shown(seconds / 86_400)} days`;
}

const freshText = ({ p50S, p99S }: Freshness) => `${timeText(p50S)} (99 %: ${timeText(p99S)})`;

export function describePrediction({ fleet, edge, origin, replicas, database, fresh, limits }: Prediction): string {
  const hasCdn = fleet.cdn !== "none";
  const ratios = ({ personalization, product }: typeof edge.hitRatios) =>
    `personalization ${ratioText(personalization)}, products ${ratioText(product)}`;
  const rows: (readonly [string, string])[] = [
    [
      "fleet",
      `${shown(fleet.requests_per_second)} requests per second, ${shown(fleet.skus)} SKUs, ${shown(fleet.products)} products`,
    ],
    ...(hasCdn
      ? ([
          ["CDN", `${fleet.cdn}, ${shown(fleet.points_of_presence)} points of presence, purge ${fleet.purge}`],
          ["hits of the CDN", `${ratioText(edge.hitRatio)}: ${ratios(edge.hitRatios)}`],
        ] as const)
      : []),
    ...(edge.cores === undefined ? [] : ([["CPU of Varnish", `${shown(edge.cores)} cores`]] as const)),
    ["requests at replicas", `${shown(origin.requestsPerSecond)} per second, ${shown(replicas.cpuUs)} µs of CPU each`],
    ["hits of replicas", `${ratioText(replicas.hitRatio)}: ${ratios(replicas.hitRatios)}`],
    [
      "replicas",
      `${shown(replicas.count)} on ${shown(replicas.machines)} ${replicas.machines === 1 ? "machine" : "machines"}; ${percent(replicas.utilization)} of a core each, the busiest ${percent(replicas.hottestUtilization)}`,
    ],
    [
      "latency at replicas",
      `median ${timeText(replicas.p50Ms / 1000)}, 99 %: ${timeText(replicas.p99Ms / 1000)}, without the network`,
    ],
    [
      "PostgreSQL",
      `${shown(database.cores)} cores, ${shown(database.readsPerSecond)} reads and ${shown(database.pollsPerSecond)} polls per second, ${shown(database.connections)} connections`,
    ],
    ...(database.standbyCores === undefined
      ? []
      : ([["standbys", `${shown(fleet.standbys)}, ${shown(database.standbyCores)} cores each`]] as const)),
    ["change at replicas", freshText(fresh.replicas)],
    ...(fresh.edge === undefined ? [] : ([["change at the CDN", freshText(fresh.edge)]] as const)),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const listed = limits.map(
    ({ name, utilization, detail, remedy }) =>
      `  ${percent(utilization).padStart(9)}  ${name}: ${detail}${utilization > 1 ? `; needs ${remedy}` : ""}`,
  );
  return `${rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join("\n")}\n\nused of each limit:\n${listed.join("\n")}`;
}

const deviation = ({ predicted, measured }: Comparison) =>
  predicted === measured ? 0 : Math.abs(predicted / measured - 1);

/** The goal of the model. */
export const tolerance = 0.15;

/** A table in Markdown, the largest deviations first. */
export function describeComparisons(comparisons: readonly Comparison[]): string {
  const sorted = comparisons.toSorted((a, b) => deviation(b) - deviation(a));
  const rows = sorted.map((comparison) => {
    const { point, quantity, predicted, measured } = comparison;
    const off = deviation(comparison);
    const cells = [
      point,
      quantity,
      predicted.toPrecision(4),
      measured.toPrecision(4),
      predicted === measured ? "0 %" : percent(predicted / measured - 1),
    ];
    return `| ${[...cells, off <= tolerance ? "yes" : "**no**"].join(" | ")} |`;
  });
  const within = comparisons.filter((each) => deviation(each) <= tolerance).length;
  return `| point | quantity | model | run | deviation | within 15 % |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}

${within} of ${comparisons.length} are within 15 %.`;
}
