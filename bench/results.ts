import type { Ask, Operation } from "./asking.ts";
import { names } from "./contenders.ts";
import { median, type Row, ratioOf, type Sample } from "./measure.ts";
import { isMet, type Measured, type Requirement, requirementsOf, sizeText } from "./requirements.ts";
import type { HalfLoad, Zipf } from "./scale.ts";

/** On what and how a run was made. */
export interface Circumstances {
  readonly command: string;
  readonly machine: string;
  /** By name; "not present" where there is none. */
  readonly versions: Readonly<Record<string, string>>;
  /** Whether servers and load generator each had a core of their own. */
  readonly isPinned: boolean;
  readonly rounds: number;
  readonly seconds: number;
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const notPresent = "not present";
const notAnswered = "does not";
const digits = (value: number, places: number) => (Number.isNaN(value) ? "–" : value.toFixed(places));
const count = (value: number) => Math.round(value).toLocaleString("en");
const middle = (samples: readonly Sample[], field: keyof Sample) => median(samples.map((sample) => sample[field]));

/** The results as a part of `bench/RESULTS.md`. @param plot file name of the picture */
export function toMarkdown(measured: Measured, circumstances: Circumstances, plot: string): string {
  const groups = Map.groupBy(measured.rows, ({ operation, skus }) => `${operation}|${skus}`);
  return [
    introduction(circumstances),
    `![Seconds of CPU for 10,000 answers, by contender](${plot})`,
    ...[...groups.values()].map(operationPart),
    zipfPart(measured.zipf),
    halfLoadPart(measured.halfLoad),
    `**What was to be reached**: medians over the rounds of the ratio within a round; of CPU where nothing else is said.`,
    requirementsTable(requirementsOf(measured)),
  ].join("\n\n");
}

function introduction({ command, machine, versions, isPinned, rounds, seconds }: Circumstances): string {
  const cores = isPinned
    ? "Each server has one core, the same one in turns; the load generator has another, and PostgreSQL takes what it gets."
    : "Servers and load generator share the cores.";
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `\`\`\`sh
${command}
\`\`\`

${machine}. ${named.join(", ")}.

The service with everything on, against others on the same data and the same bytes: every answer was compared before. ${cores} In each
of ${rounds} rounds everyone has a turn of ${seconds} s; the figures are medians. First comes the CPU that the server's processes took, as the system counts it, in seconds for 10,000
answers; *busy* is the share of their core that they used meanwhile, and where it is well below 100 % their throughput was limited by something else.`;
}

const howTexts: Readonly<Record<Ask, string>> = {
  "200": "",
  "304": ", 304 (`If-None-Match`)",
  gzip: ", gzip",
  br: ", br",
};

const operationTexts: Readonly<Record<Operation["name"], string>> = {
  personalization: "Personalization (about 2 KB)",
  product: "Product (about 30 KB)",
  histories: "Histories",
};

/** @param rows of one operation at one size */
function operationPart(rows: readonly Row[]): string {
  const { operation = "personalization", skus = 0 } = rows[0] ?? {};
  const bare = rows.find(({ name, how }) => name === "bare" && how === "200")?.samples;
  const lines = rows.map(({ name, how, isPresent, samples }) => {
    const label = `${names[name]}${howTexts[how]}`;
    if (samples === undefined) return [label, isPresent ? notAnswered : notPresent, "", "", "", "", ""];
    return [
      label,
      digits(middle(samples, "cpuS"), 3),
      bare === undefined ? "" : digits(ratioOf(samples, bare, "cpuS"), 2),
      digits(middle(samples, "postgresS"), 3),
      count(middle(samples, "perSecond")),
      digits(middle(samples, "p99Ms"), 2),
      `${digits(middle(samples, "busy") * 100, 0)} %`,
    ];
  });
  const head = ["", "CPU s", "× bare", "PostgreSQL's CPU s", "answers/s", "p99 ms", "busy"];
  return `**${operationTexts[operation]}, ${sizeText(skus)} SKUs**\n\n${table(head, lines)}`;
}

function zipfPart({ skus, samples }: Zipf): string {
  const lines = skus.map((size, index) => {
    const of = samples[index] ?? [];
    return [
      `${sizeText(size)} SKUs`,
      count(middle(of, "perSecond")),
      digits(middle(of, "cpuS"), 3),
      digits(middle(of, "p99Ms"), 2),
    ];
  });
  const [few, many] = samples;
  return `**Size**: personalization of any SKU, the nth 1/n times as often as the first (Zipf); at the larger size ${digits(ratioOf(many, few, "perSecond"), 2)} × the throughput.

${table(["", "answers/s", "CPU s", "p99 ms"], lines)}`;
}

function halfLoadPart({ rates, samples }: HalfLoad): string {
  const lines = [names.ours, names.bare].map((name, index) => {
    const of = samples[index] ?? [];
    return [name, count(rates[index] ?? 0), digits(middle(of, "p99Ms"), 2), digits(middle(of, "cpuS"), 3)];
  });
  return `**Half load**: personalization at a steady rate, half of what each was measured to do at most; latency counts from when a request is due. p99 ${digits(ratioOf(...samples, "p99Ms"), 2)} × bare.

${table(["", "requests/s", "p99 ms", "CPU s"], lines)}`;
}

export function requirementsTable(requirements: readonly Requirement[]): string {
  const lines = requirements.map((requirement) => {
    const { what, ratio, limit, isLeast } = requirement;
    const told =
      ratio === undefined ? ["–", "not measured"] : [digits(ratio, 3), isMet(requirement) ? "met" : "not met"];
    return [what, `${isLeast ? "≥" : "≤"} ${limit}`, ...told];
  });
  return table(["", "to be", "is", ""], lines);
}

const marks = ["<!-- serving -->", "<!-- /serving -->"] as const;

/** Puts a part in its place in the text. @throws Error when the text has no such place */
export function withPart(text: string, part: string): string {
  const [begin, end] = [text.indexOf(marks[0]), text.indexOf(marks[1])];
  if (begin < 0 || end < begin) throw new Error(`the results have no ${marks.join(" … ")}`);
  return `${text.slice(0, begin + marks[0].length)}\n${part}\n${text.slice(end)}`;
}
