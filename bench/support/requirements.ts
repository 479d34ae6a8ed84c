import { type Name, names } from "./contenders.ts";
import { type Row, ratioOf, type Sample } from "./measure.ts";
import type { HalfLoad, Zipf } from "./scale.ts";
import type { Operation } from "./targets.ts";

/** All measurements of one run. */
export interface Measured {
  readonly rows: readonly Row[];
  readonly zipf: Zipf;
  readonly halfLoad: HalfLoad;
}

/** A target for a ratio. */
export interface Requirement {
  readonly what: string;
  /** Undefined if one of the two does not run here. */
  readonly ratio: number | undefined;
  readonly limit: number;
  /** Whether the limit is a minimum rather than a maximum. */
  readonly isLeast: boolean;
}

export const isMet = ({ ratio, limit, isLeast }: Requirement): boolean =>
  ratio !== undefined && (isLeast ? ratio >= limit : ratio <= limit);

/** Maximum CPU per response, as a multiple of the other contender's. */
const hotLimits = [
  ["bare", 1.2],
  ["nginx", 1.25],
  ["fastify", 0.75],
  ["express", 0.04],
] as const satisfies readonly (readonly [Name, number])[];
const coldLimit = 0.35;
const notModifiedLimit = 0.9;
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

/** @param rows rows of one operation at one size */
function cpuRequirements(title: string, rows: readonly Row[]): Requirement[] {
  const samplesOf = (name: Name, kind: Row["kind"] = "200") =>
    rows.find((row) => row.name === name && row.kind === kind)?.samples;
  const operation: Operation["name"] | undefined = rows[0]?.operation;
  const requirement = (what: string, some: Samples, others: Samples, limit: number): Requirement => {
    const ratio = some === undefined || others === undefined ? undefined : ratioOf(some, others, "cpuS");
    return { what: `${title}: ${what}`, ratio, limit, isLeast: false };
  };
  const hot = hotLimits.map(([name, limit]) =>
    requirement(`hot, × ${names[name]}`, samplesOf("ours"), samplesOf(name), limit),
  );
  const cold = requirement(
    `cache off, SQLite, × ${names.express}`,
    samplesOf("coldSqlite"),
    samplesOf("express"),
    coldLimit,
  );
  const known = requirement("304, × 200", samplesOf("ours", "304"), samplesOf("ours"), notModifiedLimit);
  const isAskedFor304 = rows.some(({ kind }) => kind === "304");
  return [...(operation === "histories" ? [] : [...hot, cold]), ...(isAskedFor304 ? [known] : [])];
}

type Samples = readonly Sample[] | undefined;

/** Number of SKUs in short form. */
export function sizeText(skus: number): string {
  if (skus >= 1_000_000) return `${skus / 1_000_000} M`;
  return skus >= 1000 ? `${skus / 1000} k` : `${skus}`;
}
