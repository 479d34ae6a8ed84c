import { parseArgs } from "node:util";
import { suggest } from "../../src/suggest.ts";

interface NumberParameter {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly isWhole?: boolean;
  readonly meaning: string;
}

interface ChoiceParameter<Choice extends string> {
  readonly value: Choice;
  readonly choices: readonly Choice[];
  readonly meaning: string;
}

const choice = <Choice extends string>(choices: readonly Choice[], value: NoInfer<Choice>, meaning: string) => ({
  choices,
  value,
  meaning,
});

export const cdns = [
  "none",
  "varnish",
  "fastly",
  "cloudflare-free",
  "cloudflare-pro",
  "cloudflare-business",
  "cloudflare-enterprise",
] as const;

/** The parameters of a fleet: keys of a scenario's file, and with hyphens the flags. */
export const parameters = {
  requests_per_second: { value: 1000, min: 0.01, max: 1e9, meaning: "Requests of shoppers per second, everywhere." },
  personalization_share: { value: 0.5, min: 0, max: 1, meaning: "Share of personalization; the rest are products." },
  skus: { value: 1_000_000, min: 1, max: 1e9, isWhole: true, meaning: "SKUs with personalization." },
  products: { value: 100_000, min: 1, max: 1e9, isWhole: true, meaning: "Products." },
  skew: { value: 1, min: 0, max: 3, meaning: "Exponent of Zipf's law; 0 for even demand." },
  cdn: choice(cdns, "fastly", "CDN in front. Varnish stands for one or more servers of your own."),
  points_of_presence: { value: 20, min: 1, max: 10_000, isWhole: true, meaning: "Caches of the CDN, with even load." },
  edge_megabytes: { value: 100_000, min: 1, max: 1e9, meaning: "Size of each cache of the CDN." },
  edge_seconds: { value: 86_400, min: 1, max: 31_536_000, meaning: "How long the CDN keeps a response." },
  purge: choice(["on", "off"], "on", "Whether changes are purged from the CDN."),
  replicas: {
    value: 0,
    min: 0,
    max: 100_000,
    isWhole: true,
    meaning: "Processes that serve; 0 for as many as needed.",
  },
  routing: choice(["hash", "any"], "hash", "Whether an address is always sent to the same replica."),
  memory_megabytes: { value: 128, min: 0, max: 1e6, meaning: "`MEMORY_MEGABYTES` of each replica." },
  target_utilization: { value: 0.6, min: 0.05, max: 0.95, meaning: "Share of its core that a replica may use." },
  cores_per_machine: { value: 4, min: 1, max: 1024, isWhole: true, meaning: "Cores of a machine for replicas." },
  product_changes_per_second: { value: 0.5, min: 0, max: 1000, meaning: "Changes of products, evenly distributed." },
  feed_minutes: { value: 60, min: 0.1, max: 525_600, meaning: "Time between two feeds." },
  feed_rows: { value: 3_000_000, min: 0, max: 1e10, isWhole: true, meaning: "Rows of a feed." },
  feed_changes: { value: 2000, min: 0, max: 1e9, isWhole: true, meaning: "SKUs that differ from the feed before." },
  platform_points_per_second: { value: 100, min: 1, max: 1e6, meaning: "Points that the platform restores." },
  connections_per_replica: { value: 4, min: 1, max: 1000, isWhole: true, meaning: "Connections to PostgreSQL." },
  max_connections: { value: 500, min: 4, max: 100_000, isWhole: true, meaning: "`max_connections` of PostgreSQL." },
  standbys: { value: 0, min: 0, max: 100, isWhole: true, meaning: "Standbys of PostgreSQL that replicas read from." },
  database_cores: { value: 4, min: 1, max: 1024, isWhole: true, meaning: "Cores of each PostgreSQL server." },
} as const satisfies Record<string, NumberParameter | ChoiceParameter<string>>;

export type Name = keyof typeof parameters;

type ValueOf<Of> = Of extends { readonly choices: readonly (infer Choice)[] } ? Choice : number;

/** A fleet to simulate: the parameters with their values. */
export type Fleet = { readonly [Of in Name]: ValueOf<(typeof parameters)[Of]> };

/** Wrong usage; its message says what to change. */
export class UsageError extends Error {}

const names = Object.keys(parameters) as Name[];

const flagOf = (name: string) => name.replaceAll("_", "-");
const listFlags = (options: object) => Object.keys(options).map((name) => `--${name}`);

const wanted = ({ min, max, isWhole }: NumberParameter) => `a${isWhole ? " whole" : ""} number from ${min} to ${max}`;

/** JSON has no infinity and no NaN, which TOML has. */
const shownValue = (given: unknown) => (typeof given === "number" ? `${given}` : JSON.stringify(given));

function parseValue(name: Name, given: unknown, place: string): string | number {
  const parameter: NumberParameter | ChoiceParameter<string> = parameters[name];
  if ("choices" in parameter) {
    if (typeof given === "string" && parameter.choices.includes(given)) return given;
    throw new UsageError(`${place}: expected one of ${parameter.choices.join(", ")}, not ${JSON.stringify(given)}`);
  }
  const { min, max, isWhole = false } = parameter;
  const number = typeof given === "string" && /^[\d.]+(e\d+)?$/i.test(given) ? Number(given) : given;
  const isValid = typeof number === "number" && number >= min && number <= max;
  if (!isValid || (isWhole && !Number.isInteger(number)))
    throw new UsageError(`${place}: expected ${wanted(parameter)}, not ${shownValue(given)}`);
  return number;
}

/**
 * A fleet from values of a file, and others from the command line, which take precedence.
 * @param file the name of the file, for messages
 * @throws UsageError
 */
export function toFleet(fileValues: object, flags: Readonly<Record<string, unknown>> = {}, file = "scenario"): Fleet {
  const fleet: Record<string, string | number> = Object.fromEntries(
    names.map((name) => [name, parameters[name].value]),
  );
  for (const [key, given] of Object.entries(fileValues)) {
    const name = names.find((each) => each === key);
    if (name === undefined)
      throw new UsageError(`${file}: ${JSON.stringify(key)} is unknown; ${suggest(key, names, "keys")}`);
    fleet[name] = parseValue(name, given, `${file}: ${name}`);
  }
  for (const name of names) {
    const given = flags[flagOf(name)];
    if (given !== undefined) fleet[name] = parseValue(name, given, `--${flagOf(name)}`);
  }
  // A feed cannot change more SKUs than there are.
  return { ...(fleet as Fleet), feed_changes: Math.min(Number(fleet.feed_changes), Number(fleet.skus)) };
}

const modes = {
  json: "Print JSON, where null stands for infinity.",
  charts: "Write the charts of docs/explanation/scale.md, and print its tables.",
  measure: "Measure the costs on this machine, and write them to bench/simulate/costs.json.",
  validate: "Compare the model with Varnish, three replicas, and PostgreSQL on this machine.",
  help: "Print this help.",
} as const;

/** Duration of a measurement. Shorter ones only show that everything runs. */
const defaultSeconds = 40;

export interface Arguments {
  readonly fleet: Fleet;
  readonly seconds: number;
  readonly modes: Readonly<Partial<Record<keyof typeof modes, boolean>>>;
}

/**
 * @param readFile reads a scenario's file
 * @throws UsageError
 */
export async function parseArguments(
  args: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<Arguments> {
  const flags = Object.fromEntries(names.map((name) => [flagOf(name), { type: "string" } as const]));
  const switches = Object.fromEntries(Object.keys(modes).map((name) => [name, { type: "boolean" } as const]));
  const known = { ...flags, seconds: { type: "string" } as const, ...switches };
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: known,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    if (!Object.hasOwn(known, token.name))
      throw new UsageError(`${token.rawName} is unknown; ${suggest(token.rawName, listFlags(known), "options")}`);
    const isSwitch = Object.hasOwn(switches, token.name);
    if (isSwitch && token.value !== undefined) throw new UsageError(`${token.rawName} takes no value`);
    if (!isSwitch && token.value === undefined) throw new UsageError(`${token.rawName} needs a value`);
  }
  const [path, ...more] = positionals;
  if (more.length > 0) throw new UsageError("expected at most one scenario file");
  const fileValues = path === undefined ? {} : await parseFile(path, readFile);
  const seconds = Number(values.seconds ?? defaultSeconds);
  if (!(seconds >= 1 && seconds <= 3600))
    throw new UsageError(`--seconds: expected a number from 1 to 3600, not ${JSON.stringify(values.seconds)}`);
  return { fleet: toFleet(fileValues, values, path), seconds, modes: values as Arguments["modes"] };
}

async function parseFile(path: string, readFile: (path: string) => Promise<string>): Promise<object> {
  let text: string;
  try {
    text = await readFile(path);
  } catch (error) {
    throw new UsageError(`${path}: cannot be read: ${(error as Error).message}`);
  }
  try {
    return Bun.TOML.parse(text);
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message}`);
  }
}

export function describeUsage(): string {
  const rows: [syntax: string, meaning: string][] = names.map((name) => {
    const parameter: NumberParameter | ChoiceParameter<string> = parameters[name];
    const values = "choices" in parameter ? ` One of ${parameter.choices.join(", ")}.` : "";
    return [`--${flagOf(name)} ${parameter.value}`, parameter.meaning + values];
  });
  for (const [name, meaning] of Object.entries(modes)) rows.push([`--${name}`, meaning]);
  rows.push([`--seconds ${defaultSeconds}`, "Duration of each measurement of --measure and --validate."]);
  const width = Math.max(...rows.map(([syntax]) => syntax.length));
  const lines = rows.map(([syntax, meaning]) => `  ${syntax.padEnd(width)}  ${meaning}`);
  return `Usage: npm run simulate -- [SCENARIO.toml] [OPTIONS]

Predicts hit ratios, load, machines, latency, and freshness of a fleet. The keys of the file are the
options with underscores. Options take precedence; their defaults are shown.

${lines.join("\n")}`;
}
