import { type HorizontalAxis, lineChart } from "./charts.ts";
import type { Costs } from "./costs.ts";
import { type Prediction, predict } from "./fleet.ts";
import type { Limit } from "./limits.ts";
import { type Fleet, toFleet } from "./parameters.ts";
import { percent, ratioText, shown, timeText } from "./report.ts";

/** The fleets of docs/explanation/scale.md. */
const setups = {
  "no CDN": { cdn: "none", purge: "off" },
  "CDN, purged": { cdn: "fastly" },
  "CDN, not purged, 5 min": { cdn: "fastly", purge: "off", edge_seconds: 300 },
} as const satisfies Record<string, Partial<Fleet>>;

const sizes = [1000, 100_000, 1_000_000];
const rates = [100, 1000, 10_000, 100_000, 1_000_000];
const counts = new Intl.NumberFormat("en", { notation: "compact" });
const compact = (value: number) => counts.format(value);

const rateAxis: HorizontalAxis = {
  title: "requests of shoppers per second",
  ticks: rates,
  format: compact,
  isLogarithmic: true,
};
const between = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

interface Files {
  readonly charts: Readonly<Record<string, string>>;
  /** Tables in Markdown. */
  readonly text: string;
}

/** Predicts the fleets of the documentation. */
export function describeScale(costs: Costs): Files {
  const predictAt = (setup: Partial<Fleet>, rate: number) =>
    predict(toFleet({ ...setup, requests_per_second: rate }), costs);
  const named = Object.entries(setups);
  const predictions = named.flatMap(([name, setup]) =>
    sizes.map((size) => ({ name, size, ...predictAt(setup, size) })),
  );
  const cores = named.map(([name, setup]) => ({
    name,
    points: between.map((rate) => {
      const { replicas } = predictAt(setup, rate);
      return [rate, replicas.count * replicas.utilization] as const;
    }),
  }));
  return {
    charts: {
      "scale-cores.svg": lineChart(
        "CPU of all replicas, in cores",
        rateAxis,
        { ticks: [0.01, 0.1, 1, 10, 100], format: shown, isLogarithmic: true },
        cores,
      ),
      "scale-latency.svg": latencyChart(costs),
      "scale-memory.svg": memoryChart(costs),
    },
    text: `${scaleTable(predictions)}\n\n${limitTable(predictions)}`,
  };
}

/** One replica without a CDN, until it can't keep up. */
function latencyChart(costs: Costs): string {
  const points = Array.from({ length: 40 }, (_, index) => (index + 1) * 1000).map((rate) =>
    predict(toFleet({ ...setups["no CDN"], requests_per_second: rate, replicas: 1, memory_megabytes: 1024 }), costs),
  );
  const able = points.filter(({ replicas }) => replicas.utilization < 0.98);
  const series = (name: string, value: (prediction: Prediction) => number) => ({
    name,
    points: able.map((prediction) => [prediction.replicas.utilization * 100, value(prediction)] as const),
  });
  return lineChart(
    "Latency at a replica by its load, in milliseconds",
    { title: "% of its core", ticks: [0, 20, 40, 60, 80, 100], format: shown, isLogarithmic: false },
    { ticks: [0.01, 0.1, 1, 10], format: shown, isLogarithmic: true },
    [series("99 %", ({ replicas }) => replicas.p99Ms), series("median", ({ replicas }) => replicas.p50Ms)],
  );
}

function memoryChart(costs: Costs): string {
  const memories = [16, 32, 64, 128, 256, 512, 1024, 2048];
  const series = ([name, fleet]: readonly [string, Partial<Fleet>]) => ({
    name,
    points: memories.map((memory_megabytes) => {
      const values = { ...setups["no CDN"], requests_per_second: 10_000, replicas: 4, memory_megabytes, ...fleet };
      return [memory_megabytes, predict(toFleet(values), costs).replicas.hitRatio * 100] as const;
    }),
  });
  return lineChart(
    "Hit ratio of four replicas by the memory of each, in percent",
    { title: "MEMORY_MEGABYTES", ticks: [16, 64, 256, 1024, 2048], format: shown, isLogarithmic: true },
    { ticks: [0, 20, 40, 60, 80, 100], format: shown, isLogarithmic: false },
    [series(["by hash", { routing: "hash" }]), series(["to any replica", { routing: "any" }])],
  );
}

interface Named extends Prediction {
  readonly name: string;
  readonly size: number;
}

function scaleTable(predictions: readonly Named[]): string {
  const rows = predictions.map(({ name, size, edge, origin, replicas, database, fresh }) => {
    const fresher = fresh.edge ?? fresh.replicas;
    return [
      compact(size),
      name,
      fresh.edge === undefined ? "–" : ratioText(edge.hitRatio),
      shown(origin.requestsPerSecond),
      ratioText(replicas.hitRatio),
      shown(replicas.count),
      shown(replicas.machines),
      timeText(replicas.p99Ms / 1000),
      shown(database.cores),
      timeText(fresher.p99S),
    ];
  });
  const head = ["requests/s", "CDN", "its hits", "at replicas/s", "their hits", "replicas", "machines", "p99"];
  return toTable([...head, "PostgreSQL's cores", "change seen by 99 %"], rows);
}

function limitTable(predictions: readonly Named[]): string {
  const names = [...new Set(predictions.flatMap(({ limits }) => limits.map(({ name }) => name)))];
  const cell = (limits: readonly Limit[], wanted: string) => {
    const found = limits.find(({ name }) => name === wanted);
    if (found === undefined) return "–";
    return found.utilization > 1 ? `**${percent(found.utilization)}**` : percent(found.utilization);
  };
  const rows = names.map((name) => [name, ...predictions.map(({ limits }) => cell(limits, name))]);
  return toTable(["used of", ...predictions.map(({ size, name }) => `${compact(size)}, ${name}`)], rows);
}

const toTable = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
