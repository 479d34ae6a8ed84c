import type { Contender } from "./contenders.ts";
import { skuOf } from "./feed.ts";
import { type Bench, interleave, measure, type Sample } from "./measure.ts";

/**
 * The service at two sizes under realistic demand: the nth SKU is requested 1/n as often as the
 * first.
 */
export interface Zipf {
  readonly skus: readonly [number, number];
  readonly samples: readonly [readonly Sample[], readonly Sample[]];
}

const zipfConnections = 16;
/**
 * Coprime to all sizes with only the factors 2 and 5, so that SKUs of similar demand are not
 * adjacent in the store.
 */
const stride = 7_368_787;

/** Some or all SKUs of a store, most requested first. */
export const pathsByDemand = (skus: number, count = skus) =>
  Array.from({ length: Math.min(count, skus) }, (_, rank) => `/products/pz/${skuOf((rank * stride) % skus)}`);

export async function compareSizes(
  bench: Bench,
  few: Contender,
  many: Contender,
  skus: readonly [number, number],
): Promise<Zipf> {
  const [fewPaths, manyPaths] = [pathsByDemand(skus[0]), pathsByDemand(skus[1])];
  const { rounds, seconds, warmSeconds } = bench.pace;
  const warm = { connections: zipfConnections, order: "zipf", seconds: warmSeconds * 8 } as const;
  await bench.load.drive({ url: few.url, paths: fewPaths, ...warm, seed: 1000 });
  await bench.load.drive({ url: many.url, paths: manyPaths, ...warm, seed: 1000 });
  // Another seed each time, so that a round does not repeat the SKUs of the previous one.
  let seed = 2000;
  const drive = (contender: Contender, paths: readonly string[]) =>
    measure(bench, contender, { paths, connections: zipfConnections, order: "zipf", seconds, seed: seed++ });
  const [fewSamples = [], manySamples = []] = await interleave(rounds, [
    () => drive(few, fewPaths),
    () => drive(many, manyPaths),
  ]);
  return { skus, samples: [fewSamples, manySamples] };
}

/** Two servers at a steady rate of half of their measured maximum. */
export interface HalfLoad {
  /** Requests per second. */
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
  const maxRateOf = async ({ url }: Contender) => {
    await bench.load.drive({ url, paths, connections: halfLoadConnections, seconds: warmSeconds });
    const { perSecond } = await bench.load.drive({ url, paths, connections: halfLoadConnections, seconds });
    return perSecond;
  };
  const rates = [(await maxRateOf(ours)) / 2, (await maxRateOf(bare)) / 2] as const;
  const drive = (contender: Contender, rate: number) =>
    measure(bench, contender, { paths, connections: halfLoadConnections, rate, seconds: seconds * 2 });
  const [oursSamples = [], bareSamples = []] = await interleave(rounds, [
    () => drive(ours, rates[0]),
    () => drive(bare, rates[1]),
  ]);
  return { rates, samples: [oursSamples, bareSamples] };
}
