import { readAnswers } from "../support/platform.ts";
import type { Fleet } from "./fleet.ts";
import type { StoreHistory } from "./store-history.ts";
import { personalization } from "./store-watcher.ts";

/** Requests under way at a time. */
const concurrency = 8;

async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

/**
 * Compares products with the platform, and SKUs with the generation in the store, at each edge and
 * each replica.
 * @returns those that differ, with the place
 */
export async function findDifferences(
  { platform, edgeUrls, replicas }: Fleet,
  history: StoreHistory,
  ids: readonly string[],
  skus: readonly string[],
): Promise<string[]> {
  const expected = await readAnswers(platform, ids);
  const places = [...edgeUrls, ...replicas.map(({ url }) => url)];
  const differences: string[] = [];
  const read = async (place: string, path: string, isRight: (text: string) => boolean) => {
    const text = await fetch(`${place}/api/v1/products/${path}`).then(
      (response) => response.text(),
      (error: Error) => error.message,
    );
    if (!isRight(text)) differences.push(`${path} at ${place}`);
  };
  const ofGeneration = (text: string) => {
    const versions = text.match(/\bv\d+\b/g) ?? [];
    return (
      text.startsWith('{"pzlines":[{') && versions.every((each) => each === history.currentVersion(personalization))
    );
  };
  for (const place of places) {
    await inTurns(ids, (id) => read(place, id, (text) => text === expected.get(id)));
    await inTurns(skus, (sku) => read(place, `pz/${sku}`, ofGeneration));
  }
  return differences;
}
