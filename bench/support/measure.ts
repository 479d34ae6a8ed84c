import { join } from "node:path";
import { type Contender, type Name, names } from "./contenders.ts";
import type { LoadResult, LoadSpec, Target } from "./load.ts";
import { cpuSecondsOf, loadCore, onCore } from "./processes.ts";
import { median } from "./statistics.ts";
import { findTargets, type Operation, type RequestKind } from "./targets.ts";

/** Number and duration of the rounds. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
}

/** One measurement of one contender. */
export interface Sample {
  /** CPU seconds of its processes per 10,000 responses; NaN if the system does not report them. */
  readonly cpuS: number;
  /** The same for the PostgreSQL server. */
  readonly postgresS: number;
  readonly perSecond: number;
  readonly p99Ms: number;
  /**
   * Share of one core that its processes used, 0 to 1. Well below 1, something else was the
   * bottleneck.
   */
  readonly busy: number;
}

/** All measurements of a contender for one kind of request, one per round. */
export interface Row {
  readonly operation: Operation["name"];
  readonly skus: number;
  readonly name: Name;
  readonly kind: RequestKind;
  /** Whether it runs on this machine. */
  readonly isPresent: boolean;
  /** Undefined if it does not run here or does not support this kind of request. */
  readonly samples: readonly Sample[] | undefined;
}

/** The load generator in its own process. */
export class LoadProcess implements AsyncDisposable {
  readonly #child;
  readonly #output;

  /** @param starter the command that starts it; by default, on a core without servers */
  constructor(starter: readonly string[] = onCore(loadCore)) {
    this.#child = Bun.spawn([...starter, process.execPath, join(import.meta.dir, "load.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** @throws Error if a request failed */
  async drive(spec: LoadSpec): Promise<LoadResult> {
    return check(spec, await this.#ask(spec));
  }

  /** Runs loads at the same time. @throws Error if a request failed */
  async driveAll(specs: readonly LoadSpec[]): Promise<LoadResult[]> {
    const results: LoadResult[] = await this.#ask(specs);
    return specs.map((spec, index) => check(spec, results[index] as LoadResult));
  }

  async #ask<Answer>(question: LoadSpec | readonly LoadSpec[]): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    await this.#child.stdin.flush();
    let line = "";
    while (!line.endsWith("\n")) {
      const { value, done } = await this.#output.read();
      if (done) throw new Error("the load generator exited");
      line += value;
    }
    return JSON.parse(line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stdin.end();
    await this.#child.exited;
  }
}

function check({ url }: LoadSpec, result: LoadResult): LoadResult {
  if (result.failed > 0) throw new Error(`${url}: requests failed: ${JSON.stringify(result.failures)}`);
  return result;
}

export interface Bench {
  readonly load: LoadProcess;
  /** Process id of the PostgreSQL postmaster. */
  readonly postgresPid: number;
  readonly pace: Pace;
  readonly logProgress: (line: string) => void;
}

/** Runs a load against a contender and measures its cost. */
export async function measure(
  { load, postgresPid }: Bench,
  { url, pid }: Contender,
  spec: Omit<LoadSpec, "url">,
): Promise<Sample> {
  const before = [pid, postgresPid].map(cpuSecondsOf);
  const result = await load.drive({ url, ...spec });
  const [own = 0, postgres = 0] = [pid, postgresPid].map((of, index) => cpuSecondsOf(of) - (before[index] ?? 0));
  const scale = 10_000 / result.requests;
  return {
    cpuS: own * scale,
    postgresS: postgres * scale,
    perSecond: result.perSecond,
    p99Ms: result.p99Ms,
    busy: own / result.seconds,
  };
}

const connections = 16;

interface Entry {
  readonly contender: Contender;
  readonly kind: RequestKind;
  readonly paths: readonly Target[];
  readonly samples: Sample[];
}

const specOf = ({ kind, paths }: Entry) => ({ connections, paths, expect: kind === "304" ? 304 : 200 });

/**
 * Compares all contenders on one operation, interleaved in rounds so that changes of the machine
 * affect all of them.
 */
export async function compare(
  bench: Bench,
  contenders: readonly Contender[],
  operation: Operation,
  skus: number,
  kinds: readonly RequestKind[],
): Promise<Row[]> {
  const entries: Entry[] = [];
  for (const [contender, kind] of pairs(contenders, kinds)) {
    const paths = await findTargets(contender, operation, kind);
    if (paths === undefined) continue;
    const entry: Entry = { contender, kind, paths, samples: [] };
    entries.push(entry);
    await bench.load.drive({ url: contender.url, ...specOf(entry), requests: paths.length, order: "turns" });
    await bench.load.drive({ url: contender.url, ...specOf(entry), seconds: bench.pace.warmSeconds });
  }
  for (let round = 0; round < bench.pace.rounds; round++) {
    for (const entry of entries) {
      const spec = { ...specOf(entry), seconds: bench.pace.seconds, seed: round + 1 };
      entry.samples.push(await measure(bench, entry.contender, spec));
    }
    bench.logProgress(
      `${operation.name}, ${skus} SKUs, round ${round + 1} of ${bench.pace.rounds}: ${summarize(entries)}`,
    );
  }
  const rowOf = (name: Name, kind: RequestKind): Row => {
    const entry = entries.find((of) => of.contender.name === name && of.kind === kind);
    const isPresent = contenders.some((contender) => contender.name === name);
    return { operation: operation.name, skus, name, kind, isPresent, samples: entry?.samples };
  };
  const plain = (Object.keys(names) as Name[]).map((name) => rowOf(name, "200"));
  const others = kinds.filter((kind) => kind !== "200");
  const ours = others.map((kind) => rowOf("ours", kind));
  // Other contenders only if they support it.
  const theirs = entries.filter(({ kind, contender }) => kind !== "200" && contender.name !== "ours");
  return [...plain, ...ours, ...theirs.map(({ contender, kind }) => rowOf(contender.name, kind))];
}

/** Pairs of contenders and kinds of requests; with the cache off, a 304 costs as much as a body. */
function pairs(contenders: readonly Contender[], kinds: readonly RequestKind[]): (readonly [Contender, RequestKind])[] {
  return kinds.flatMap((kind) =>
    contenders
      .filter(({ name }) => kind !== "304" || !name.startsWith("cold"))
      .map((contender) => [contender, kind] as const),
  );
}

function summarize(entries: readonly Entry[]): string {
  return entries
    .map(({ contender, kind, samples }) => {
      const last = samples.at(-1);
      return `${contender.name}${kind === "200" ? "" : ` ${kind}`} ${last?.cpuS.toFixed(2)}`;
    })
    .join(", ");
}

/** Interleaves several measurements in rounds. @returns the samples of each, one per round */
export async function interleave(rounds: number, things: readonly (() => Promise<Sample>)[]): Promise<Sample[][]> {
  const samples: Sample[][] = things.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, thing] of things.entries()) samples[index]?.push(await thing());
  }
  return samples;
}

/** Ratios within each round. */
export function ratiosOf(
  some: readonly Sample[],
  others: readonly Sample[],
  field: "cpuS" | "perSecond" | "p99Ms",
): number[] {
  return some.map((sample, round) => sample[field] / (others[round]?.[field] ?? Number.NaN));
}

export const ratioOf = (...of: Parameters<typeof ratiosOf>) => median(ratiosOf(...of));
