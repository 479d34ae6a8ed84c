import { type Name, names } from "./contenders.ts";
import { type Row, ratiosOf, type Sample } from "./measure.ts";
import type { HalfLoad, Zipf } from "./scale.ts";
import { median } from "./statistics.ts";
import type { Operation } from "./targets.ts";
import type { WorkloadRow } from "./workloads.ts";

/** The measurements of one run; those of parts that were not selected are missing. */
export interface Measured {
  readonly skus: number;
  /** All operations beside each other, on one server and its cache. */
  readonly together: readonly WorkloadRow[];
  readonly workloads: readonly WorkloadRow[];
  readonly rows: readonly Row[];
  readonly zipf: Zipf | undefined;
  readonly halfLoad: HalfLoad | undefined;
}

/** A target for a ratio. */
export interface Requirement {
  readonly what: string;
  /** In each round; undefined if one of the two does not run here. */
  readonly ratios: readonly number[] | undefined;
  readonly limit: number;
  /** Whether the limit is a minimum rather than a maximum. */
  readonly isLeast: boolean;
}

export function isMet({ ratios, limit, isLeast }: Requirement): boolean {
  if (ratios === undefined) return false;
  return isLeast ? median(ratios) >= limit : median(ratios) <= limit;
}

/** Maximum CPU per response, as a multiple of the other contender's. */
const limits: readonly (readonly [Operation["name"], Name, number])[] = [
  ["personalization", "bare", 1.1],
  ["personalization", "nginx", 1],
  ["personalization", "fastify", 0.6],
  ["product", "bare", 1.1],
  ["product", "nginx", 0.95],
  ["histories", "bare", 1.1],
  ["histories", "nginx", 1.2],
];
const uncachedLimit = 3;
const sizeLimit = 0.7;
const halfLoadLimit = 3;

export function requirementsOf({ together, rows, zipf, halfLoad }: Measured): Requirement[] {
  const most = (what: string, ratios: readonly number[] | undefined, limit: number): Requirement => ({
    what,
    ratios,
    limit,
    isLeast: false,
  });
  const plain = together.filter(({ workload }) => !workload.isBrowser);
  const hot = limits.flatMap(([operation, name, limit]) =>
    plain
      .filter(({ workload }) => workload.operation === operation)
      .map(({ samples }) => most(`${operation}, × ${names[name]}`, ratiosBetween(samples, "ours", name), limit)),
  );
  const samplesOf = (name: Name, kind: Row["kind"]) =>
    rows.find((row) => row.operation === "personalization" && row.name === name && row.kind === kind)?.samples;
  const uncached = (["gzip", "br"] as const).flatMap((kind) => {
    const [cold, cached] = [samplesOf("coldSqlite", kind), samplesOf("ours", kind)];
    if (cold === undefined || cached === undefined) return [];
    return [
      most(`personalization, ${kind}, not in the cache, × cached`, ratiosOf(cold, cached, "cpuS"), uncachedLimit),
    ];
  });
  const sizes = zipf && {
    what: `throughput at ${sizeText(zipf.skus[1])} SKUs, × at ${sizeText(zipf.skus[0])}`,
    ratios: ratiosOf(zipf.samples[1], zipf.samples[0], "perSecond"),
    limit: sizeLimit,
    isLeast: true,
  };
  const half =
    halfLoad && most(`p99 at half load, × ${names.bare}`, ratiosOf(...halfLoad.samples, "p99Ms"), halfLoadLimit);
  return [...hot, ...uncached, sizes, half].filter((requirement) => requirement !== undefined);
}

/** @returns the ratios of CPU per response; undefined if one of the two was not measured */
export function ratiosBetween(
  samples: ReadonlyMap<Name, readonly Sample[]>,
  name: Name,
  other: Name,
): number[] | undefined {
  const [some, others] = [samples.get(name), samples.get(other)];
  return some === undefined || others === undefined ? undefined : ratiosOf(some, others, "cpuS");
}

/** Number of SKUs in short form. */
export function sizeText(skus: number): string {
  if (skus >= 1_000_000) return `${skus / 1_000_000} M`;
  return skus >= 1000 ? `${skus / 1000} k` : `${skus}`;
}
