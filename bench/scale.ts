import type { Contender } from "./contenders.ts";
import { skuOf } from "./feed.ts";
import { type Bench, inTurns, measure, type Sample } from "./measure.ts";

/** The service at two sizes, as shoppers ask: the nth SKU 1/n times as often as the first. */
export interface Zipf {
  readonly skus: readonly [number, number];
  readonly samples: readonly [readonly Sample[], readonly Sample[]];
}

const zipfConnections = 16;
/** Coprime to every size that has only the factors 2 and 5: neighbours in demand are no neighbours in the store. */
const stride = 7_368_787;

/** All SKUs of a store, the most wanted first. */
const byDemand = (skus: number) =>
  Array.from({ length: skus }, (_, rank) => `/products/pz/${skuOf((rank * stride) % skus)}`);

export async function compareSizes(
  bench: Bench,
  few: Contender,
  many: Contender,
  skus: readonly [number, number],
): Promise<Zipf> {
  const [fewPaths, manyPaths] = [byDemand(skus[0]), byDemand(skus[1])];
  const { rounds, seconds, warmSeconds } = bench.pace;
  const warm = { connections: zipfConnections, order: "zipf", seconds: warmSeconds * 8 } as const;
  await bench.load.drive({ url: few.url, paths: fewPaths, ...warm, seed: 1000 });
  await bench.load.drive({ url: many.url, paths: manyPaths, ...warm, seed: 1000 });
  // Other SKUs each time: what was asked for in the last round is not what is asked for now.
  let seed = 2000;
  const drive = (contender: Contender, paths: readonly string[]) =>
    measure(bench, contender, { paths, connections: zipfConnections, order: "zipf", seconds, seed: seed++ });
  const [fewSamples = [], manySamples = []] = await inTurns(rounds, [
    () => drive(few, fewPaths),
    () => drive(many, manyPaths),
  ]);
  return { skus, samples: [fewSamples, manySamples] };
}

/** Two servers at a steady rate that is half of what each was measured to do at most. */
export interface HalfLoad {
  /** Requests a second. */
  readonly rates: readonly [number, number];
  readonly samples: readonly [readonly Sample[], readonly Sample[]];
}

const halfLoadConnections = 64;

export async function compareAtHalfLoad(
  bench: Bench,
  ours: Contender,
  bare: Contender,
  paths: readonly string[],
): Promise<HalfLoad> {
  const { rounds, seconds, warmSeconds } = bench.pace;
  const mostOf = async ({ url }: Contender) => {
    await bench.load.drive({ url, paths, connections: halfLoadConnections, seconds: warmSeconds });
    const { perSecond } = await bench.load.drive({ url, paths, connections: halfLoadConnections, seconds });
    return perSecond;
  };
  const rates = [(await mostOf(ours)) / 2, (await mostOf(bare)) / 2] as const;
  const drive = (contender: Contender, rate: number) =>
    measure(bench, contender, { paths, connections: halfLoadConnections, rate, seconds: seconds * 2 });
  const [oursSamples = [], bareSamples = []] = await inTurns(rounds, [
    () => drive(ours, rates[0]),
    () => drive(bare, rates[1]),
  ]);
  return { rates, samples: [oursSamples, bareSamples] };
}
