import type { Contender, Name } from "./contenders.ts";
import type { LoadSpec } from "./load.ts";
import { type Bench, measure, type Sample } from "./measure.ts";
import { type Operation, verify } from "./targets.ts";

/** Requests of one kind: how many addresses, how often each, and with which `Accept-Encoding`. */
export interface Workload {
  readonly operation: Operation["name"];
  readonly addresses: number;
  /** Evenly, or by Zipf: the nth address is requested 1/n as often as the first. */
  readonly order: "uniform" | "zipf";
  /** Whether the requests have a browser's `Accept-Encoding`. */
  readonly isBrowser: boolean;
}

/** All measurements of one workload, one sample per round. */
export interface WorkloadRow {
  readonly workload: Workload;
  readonly samples: ReadonlyMap<Name, readonly Sample[]>;
}

const connections = 16;
const browserHeaders = { "Accept-Encoding": "gzip, deflate, br, zstd" };
/** Bodies of more addresses are not all compared with the service's. */
const maxVerified = 1000;
/** Servers that need PostgreSQL for what their cache cannot hold would take minutes to warm up. */
const maxHandwrittenAddresses = 10_000;

/** Paths of an operation, most requested first. */
export type Paths = Readonly<Record<Operation["name"], readonly string[]>>;

/**
 * Compares the contenders on workloads that share each server and its cache, interleaved in rounds.
 */
export async function compareWorkloads(
  bench: Bench,
  contenders: readonly Contender[],
  paths: Paths,
  workloads: readonly Workload[],
): Promise<WorkloadRow[]> {
  const rows = workloads.map((workload) => ({
    workload,
    entries: contenders
      .filter(({ name }) => name !== "fastify" || workload.addresses <= maxHandwrittenAddresses)
      .map((contender) => ({ contender, samples: [] as Sample[] })),
    spec: specOf(workload, paths[workload.operation]),
  }));
  for (const { entries, spec } of rows) {
    for (const { contender } of entries) await warm(bench, contender, spec);
  }
  const { rounds, seconds } = bench.pace;
  for (let round = 0; round < rounds; round++) {
    for (const { entries, spec } of rows) {
      // Alternately forward and backward, so that no server always follows the same one.
      for (const { contender, samples } of round % 2 === 0 ? entries : entries.toReversed()) {
        samples.push(await measure(bench, contender, { ...spec, seconds, seed: round + 1 }));
      }
    }
  }
  return rows.map(({ workload, entries }) => ({
    workload,
    samples: new Map(entries.map(({ contender, samples }) => [contender.name, samples])),
  }));
}

type Spec = Omit<LoadSpec, "url" | "seconds"> & { readonly paths: readonly string[] };

function specOf({ addresses, order, isBrowser }: Workload, paths: readonly string[]): Spec {
  const headers = isBrowser ? browserHeaders : {};
  return { connections, paths: paths.slice(0, addresses), order, headers };
}

/** Requests every address twice, because a cache may do more on the second request. */
async function warm({ load, pace }: Bench, { url }: Contender, spec: Spec): Promise<void> {
  await load.drive({ ...spec, url, order: "turns", requests: spec.paths.length * 2 });
  await load.drive({ ...spec, url, seconds: pace.warmSeconds });
}

/** Verifies that a contender returns the same bodies as the service. */
export async function verifyBodies(contender: Contender, bodies: Operation["bodies"]): Promise<void> {
  const step = Math.ceil(bodies.size / maxVerified);
  const some = [...bodies].filter((_, index) => index % step === 0);
  await verify(contender, new Map(some));
}
