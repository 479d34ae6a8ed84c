import { names } from "./contenders.ts";
import { type Row, ratioOf, ratiosOf, type Sample } from "./measure.ts";
import { isMet, type Measured, type Requirement, ratiosBetween, requirementsOf, sizeText } from "./requirements.ts";
import type { HalfLoad, Zipf } from "./scale.ts";
import { interval, median } from "./statistics.ts";
import type { Operation, RequestKind } from "./targets.ts";
import type { WorkloadRow } from "./workloads.ts";

/** Machine, versions, and parameters of a run. */
export interface Environment {
  readonly command: string;
  readonly machine: string;
  /** By name; "not present" if missing. */
  readonly versions: Readonly<Record<string, string>>;
  /** Whether servers and load generator were pinned to separate cores. */
  readonly isPinned: boolean;
  readonly rounds: number;
  /** For the targets, the parts `together` and `sizes`. */
  readonly exactRounds: number;
  readonly seconds: number;
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const notPresent = "not present";
const notAnswered = "not supported";
const digits = (value: number, places: number) => (Number.isNaN(value) ? "–" : value.toFixed(places));
const count = (value: number) => Math.round(value).toLocaleString("en");
const medianOf = (samples: readonly Sample[], field: keyof Sample) => median(samples.map((sample) => sample[field]));

/** The results as a section of `bench/RESULTS.md`. @param plot file name of the chart, if there is one */
export function toMarkdown(measured: Measured, environment: Environment, plot: string | undefined): string {
  const groups = Map.groupBy(measured.rows, ({ operation, skus }) => `${operation}|${skus}`);
  return [
    introductionText(environment),
    "**Targets**: medians of the ratios within each round with the 95 % interval, of CPU unless stated otherwise.",
    requirementsTable(requirementsOf(measured)),
    ...(measured.together.length > 0 ? [togetherIntroduction, workloadTable(measured.together)] : []),
    ...(measured.workloads.length > 0 ? [workloadIntroduction, workloadTable(measured.workloads)] : []),
    ...(plot === undefined ? [] : [`![CPU seconds per 10,000 responses, by contender](${plot})`]),
    ...[...groups.values()].map(operationSection),
    ...(measured.zipf === undefined ? [] : [zipfSection(measured.zipf)]),
    ...(measured.halfLoad === undefined ? [] : [halfLoadSection(measured.halfLoad)]),
  ].join("\n\n");
}

const togetherIntroduction = `**Beside each other**: all operations on one server and its cache, with default settings. *Browser* is
\`Accept-Encoding: gzip, deflate, br, zstd\`: the service compresses, the others don't.`;
const workloadIntroduction = "**By number of addresses**: each after the other, on the same servers.";

function workloadTable(rows: readonly WorkloadRow[]): string {
  const lines = rows.map(({ workload: { operation, addresses, order, isBrowser }, samples }) => {
    const ours = samples.get("ours") ?? [];
    const ratios = (["bare", "nginx", "fastify"] as const).map((name) => ratiosBetween(samples, "ours", name));
    return [
      operation,
      count(addresses),
      order === "zipf" ? "by Zipf" : "evenly",
      isBrowser ? "browser" : "none",
      digits(medianOf(ours, "cpuS"), 3),
      ...ratios.map((each) => (each === undefined ? "–" : interval(each))),
      count(medianOf(ours, "perSecond")),
    ];
  });
  const head = ["", "addresses", "requested", "encoding", "CPU s", "× bare", "× nginx", "× Fastify", "responses/s"];
  return table(head, lines);
}

function introductionText({ command, machine, versions, isPinned, rounds, exactRounds, seconds }: Environment): string {
  const cores = isPinned
    ? "The servers take turns on one core, the load generator has another, and PostgreSQL is not pinned."
    : "The servers and the load generator share the cores.";
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `\`\`\`sh
${command}
\`\`\`

${machine}. ${named.join(", ")}.

The service with all features on, compared with other servers on the same data; every response was verified to have the same bytes first. ${cores} Each
server is measured for ${seconds} s in each of ${rounds} rounds (${exactRounds} for operations beside each other and for sizes); the figures are medians, those in parentheses a 95 % interval. *CPU s* is the CPU time of the server's processes per 10,000 responses, in seconds,
as reported by the system. *busy* is the share of a core that they used; well below 100 %, something else limited the throughput.`;
}

const kindLabels: Readonly<Record<RequestKind, string>> = {
  "200": "",
  "304": ", 304 (`If-None-Match`)",
  gzip: ", gzip",
  br: ", br",
};

const operationLabels: Readonly<Record<Operation["name"], string>> = {
  personalization: "Personalization (about 3 KB)",
  product: "Product (about 30 KB)",
  histories: "Histories",
};

/** @param rows rows of one operation at one size */
function operationSection(rows: readonly Row[]): string {
  const { operation = "personalization", skus = 0 } = rows[0] ?? {};
  const bare = rows.find(({ name, kind }) => name === "bare" && kind === "200")?.samples;
  const lines = rows.map(({ name, kind, isPresent, samples }) => {
    const label = `${names[name]}${kindLabels[kind]}`;
    if (samples === undefined) return [label, isPresent ? notAnswered : notPresent, "", "", "", "", ""];
    return [
      label,
      digits(medianOf(samples, "cpuS"), 3),
      bare === undefined ? "" : digits(ratioOf(samples, bare, "cpuS"), 2),
      digits(medianOf(samples, "postgresS"), 3),
      count(medianOf(samples, "perSecond")),
      digits(medianOf(samples, "p99Ms"), 2),
      `${digits(medianOf(samples, "busy") * 100, 0)} %`,
    ];
  });
  const head = ["", "CPU s", "× bare", "PostgreSQL's CPU s", "responses/s", "p99 ms", "busy"];
  return `**${operationLabels[operation]}, ${sizeText(skus)} SKUs**\n\n${table(head, lines)}`;
}

function zipfSection({ skus, samples }: Zipf): string {
  const lines = skus.map((size, index) => {
    const of = samples[index] ?? [];
    return [
      `${sizeText(size)} SKUs`,
      count(medianOf(of, "perSecond")),
      digits(medianOf(of, "cpuS"), 3),
      digits(medianOf(of, "p99Ms"), 2),
    ];
  });
  const [few, many] = samples;
  return `**Size**: personalization of random SKUs by Zipf (the nth is requested 1/n as often as the first). Throughput at the larger size: ${interval(ratiosOf(many, few, "perSecond"))} ×.

${table(["", "responses/s", "CPU s", "p99 ms"], lines)}`;
}

function halfLoadSection({ rates, samples }: HalfLoad): string {
  const lines = [names.ours, names.bare].map((name, index) => {
    const of = samples[index] ?? [];
    return [name, count(rates[index] ?? 0), digits(medianOf(of, "p99Ms"), 2), digits(medianOf(of, "cpuS"), 3)];
  });
  return `**Half load**: personalization at a steady rate, half of the measured maximum of each server. Latency counts from the scheduled time of a request. p99: ${interval(ratiosOf(...samples, "p99Ms"))} × bare.

${table(["", "requests/s", "p99 ms", "CPU s"], lines)}`;
}

function requirementsTable(requirements: readonly Requirement[]): string {
  const lines = requirements.map((requirement) => {
    const { what, ratios, limit, isLeast } = requirement;
    const cells =
      ratios === undefined ? ["–", "not measured"] : [interval(ratios), isMet(requirement) ? "met" : "not met"];
    return [what, `${isLeast ? "≥" : "≤"} ${limit}`, ...cells];
  });
  return table(["", "target", "measured", ""], lines);
}

const markers = ["<!-- serving -->", "<!-- /serving -->"] as const;

/** Replaces the generated section of the text. @throws Error if the text has no such section */
export function replaceSection(text: string, part: string): string {
  const [begin, end] = [text.indexOf(markers[0]), text.indexOf(markers[1])];
  if (begin < 0 || end < begin) throw new Error(`the text has no ${markers.join(" … ")}`);
  return `${text.slice(0, begin + markers[0].length)}\n${part}\n${text.slice(end)}`;
}
