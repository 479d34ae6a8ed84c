import { join } from "node:path";
import { type Ask, findTargets, type Operation } from "./asking.ts";
import { type Contender, type Name, names } from "./contenders.ts";
import type { LoadResult, LoadSpec, Target } from "./load.ts";
import { cpuSecondsOf, loadCore, onCore } from "./processes.ts";
import { percentile } from "./service.ts";

/** How long and how often. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
}

/** One measurement of one contender. */
export interface Sample {
  /** Seconds of CPU that its processes used for 10,000 answers; NaN where the system does not tell. */
  readonly cpuS: number;
  /** The same of the PostgreSQL server. */
  readonly postgresS: number;
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Share of one core that its processes used, 0 to 1: below it something else was the limit, such as the load generator. */
  readonly busy: number;
}

/** All measurements of a contender that is asked in one way, one a round. */
export interface Row {
  readonly operation: Operation["name"];
  readonly skus: number;
  readonly name: Name;
  readonly how: Ask;
  /** Whether it runs here at all. */
  readonly isPresent: boolean;
  /** Undefined when it does not run here or does not answer like that. */
  readonly samples: readonly Sample[] | undefined;
}

/** The load generator in a process of its own, on the core that no server has. */
export class LoadProcess implements AsyncDisposable {
  readonly #child = Bun.spawn([...onCore(loadCore), process.execPath, join(import.meta.dir, "load.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  readonly #output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();

  /** @throws Error when a request failed */
  async drive(spec: LoadSpec): Promise<LoadResult> {
    this.#child.stdin.write(`${JSON.stringify(spec)}\n`);
    await this.#child.stdin.flush();
    let line = "";
    while (!line.endsWith("\n")) {
      const { value, done } = await this.#output.read();
      if (done) throw new Error("the load generator ended");
      line += value;
    }
    const result: LoadResult = JSON.parse(line);
    if (result.failed > 0) throw new Error(`${spec.url}: requests failed: ${JSON.stringify(result.failures)}`);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stdin.end();
    await this.#child.exited;
  }
}

export interface Bench {
  readonly load: LoadProcess;
  /** The first process of the PostgreSQL server. */
  readonly postgresPid: number;
  readonly pace: Pace;
  readonly tell: (line: string) => void;
}

/** Drives a contender. @returns what it cost */
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
  readonly how: Ask;
  readonly paths: readonly Target[];
  readonly samples: Sample[];
}

const specOf = ({ how, paths }: Entry) => ({ connections, paths, expect: how === "304" ? 304 : 200 });

/**
 * One operation by all contenders in turns, round after round, so that what changes on the machine meanwhile changes for all of them.
 * @param ways how they are asked
 */
export async function compare(
  bench: Bench,
  contenders: readonly Contender[],
  operation: Operation,
  skus: number,
  ways: readonly Ask[],
): Promise<Row[]> {
  const entries: Entry[] = [];
  for (const [contender, how] of asked(contenders, ways)) {
    const paths = await findTargets(contender, operation, how);
    if (paths === undefined) continue;
    const entry: Entry = { contender, how, paths, samples: [] };
    entries.push(entry);
    await bench.load.drive({ url: contender.url, ...specOf(entry), requests: paths.length, order: "turns" });
    await bench.load.drive({ url: contender.url, ...specOf(entry), seconds: bench.pace.warmSeconds });
  }
  for (let round = 0; round < bench.pace.rounds; round++) {
    for (const entry of entries) {
      const spec = { ...specOf(entry), seconds: bench.pace.seconds, seed: round + 1 };
      entry.samples.push(await measure(bench, entry.contender, spec));
    }
    bench.tell(`${operation.name}, ${skus} SKUs, round ${round + 1} of ${bench.pace.rounds}: ${glance(entries)}`);
  }
  const rowOf = (name: Name, how: Ask): Row => {
    const entry = entries.find((of) => of.contender.name === name && of.how === how);
    const isPresent = contenders.some((contender) => contender.name === name);
    return { operation: operation.name, skus, name, how, isPresent, samples: entry?.samples };
  };
  const plain = (Object.keys(names) as Name[]).map((name) => rowOf(name, "200"));
  const others = ways.filter((how) => how !== "200");
  const ours = others.map((how) => rowOf("ours", how));
  // Of the others only who can.
  const theirs = entries.filter(({ how, contender }) => how !== "200" && contender.name !== "ours");
  return [...plain, ...ours, ...theirs.map(({ contender, how }) => rowOf(contender.name, how))];
}

/** Whom to ask how: without memory there is only one way that matters. */
function asked(contenders: readonly Contender[], ways: readonly Ask[]): (readonly [Contender, Ask])[] {
  return ways.flatMap((how) =>
    contenders
      .filter(({ name }) => how === "200" || !name.startsWith("cold"))
      .map((contender) => [contender, how] as const),
  );
}

function glance(entries: readonly Entry[]): string {
  return entries
    .map(({ contender, how, samples }) => {
      const last = samples.at(-1);
      return `${contender.name}${how === "200" ? "" : ` ${how}`} ${last?.cpuS.toFixed(2)}`;
    })
    .join(", ");
}

export const median = (values: readonly number[]) => percentile(values, 0.5);

/** Measures some things in turns. @returns the samples of each, one a round */
export async function inTurns(rounds: number, things: readonly (() => Promise<Sample>)[]): Promise<Sample[][]> {
  const samples: Sample[][] = things.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, thing] of things.entries()) samples[index]?.push(await thing());
  }
  return samples;
}

/** The median of what is so many times another in the same round. */
export function ratioOf(
  some: readonly Sample[],
  others: readonly Sample[],
  field: "cpuS" | "perSecond" | "p99Ms",
): number {
  return median(some.map((sample, round) => sample[field] / (others[round]?.[field] ?? Number.NaN)));
}
