import type { Operation } from "./asking.ts";
import { type Name, names } from "./contenders.ts";
import { type Row, ratioOf, type Sample } from "./measure.ts";
import type { HalfLoad, Zipf } from "./scale.ts";

/** Everything that one run has measured. */
export interface Measured {
  readonly rows: readonly Row[];
  readonly zipf: Zipf;
  readonly halfLoad: HalfLoad;
}

/** A ratio that the service is held to. */
export interface Requirement {
  readonly what: string;
  /** Undefined when one of the two does not run here. */
  readonly ratio: number | undefined;
  readonly limit: number;
  /** Whether the ratio may not be below the limit, rather than not above it. */
  readonly isLeast: boolean;
}

export const isMet = ({ ratio, limit, isLeast }: Requirement): boolean =>
  ratio !== undefined && (isLeast ? ratio >= limit : ratio <= limit);

/** How much CPU an answer may take, as a multiple of others'. */
const hotLimits = [
  ["bare", 1.2],
  ["nginx", 1.25],
  ["fastify", 0.75],
  ["express", 0.04],
] as const satisfies readonly (readonly [Name, number])[];
const coldLimit = 0.35;
const knownLimit = 0.9;
const sizeLimit = 0.9;
const halfLoadLimit = 3;

export function requirementsOf({ rows, zipf, halfLoad }: Measured): Requirement[] {
  const groups = Map.groupBy(rows, ({ operation, skus }) => `${operation}, ${sizeText(skus)} SKUs`);
  const cpu = [...groups].flatMap(([title, group]) => cpuRequirements(title, group));
  const [few, many] = zipf.samples;
  return [
    ...cpu,
    {
      what: `throughput at ${sizeText(zipf.skus[1])} SKUs, × at ${sizeText(zipf.skus[0])}`,
      ratio: ratioOf(many, few, "perSecond"),
      limit: sizeLimit,
      isLeast: true,
    },
    {
      what: `p99 at half load, × ${names.bare}`,
      ratio: ratioOf(...halfLoad.samples, "p99Ms"),
      limit: halfLoadLimit,
      isLeast: false,
    },
  ];
}

/** @param rows of one operation at one size */
function cpuRequirements(title: string, rows: readonly Row[]): Requirement[] {
  const samplesOf = (name: Name, how: Row["how"] = "200") =>
    rows.find((row) => row.name === name && row.how === how)?.samples;
  const operation: Operation["name"] | undefined = rows[0]?.operation;
  const requirement = (what: string, some: Samples, others: Samples, limit: number): Requirement => {
    const ratio = some === undefined || others === undefined ? undefined : ratioOf(some, others, "cpuS");
    return { what: `${title}: ${what}`, ratio, limit, isLeast: false };
  };
  const hot = hotLimits.map(([name, limit]) =>
    requirement(`hot, × ${names[name]}`, samplesOf("ours"), samplesOf(name), limit),
  );
  const cold = requirement(
    `memory off, SQLite, × ${names.express}`,
    samplesOf("coldSqlite"),
    samplesOf("express"),
    coldLimit,
  );
  const known = requirement("304, × 200", samplesOf("ours", "304"), samplesOf("ours"), knownLimit);
  const isAskedFor304 = rows.some(({ how }) => how === "304");
  return [...(operation === "histories" ? [] : [...hot, cold]), ...(isAskedFor304 ? [known] : [])];
}

type Samples = readonly Sample[] | undefined;

/** A number of SKUs in short. */
export function sizeText(skus: number): string {
  if (skus >= 1_000_000) return `${skus / 1_000_000} M`;
  return skus >= 1000 ? `${skus / 1000} k` : `${skus}`;
}
