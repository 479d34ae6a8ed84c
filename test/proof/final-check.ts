import { readAnswers } from "../support/platform.ts";
import type { Fleet } from "./fleet.ts";

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
 * Compares products with the platform, and SKUs with the feed, at each edge and each replica. The edges
 * must have them in their caches then.
 * @param version of the feed
 * @returns those that differ, with the place
 */
export async function findDifferences(
  { platform, erp, edgeUrls, replicas }: Fleet,
  ids: readonly string[],
  skus: readonly string[],
  version: string,
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
  for (const place of places) {
    await inTurns(ids, (id) => read(place, id, (text) => text === expected.get(id)));
    await inTurns(skus, (sku) => read(place, `pz/${sku}`, (text) => text === erp.responseOf(sku, version)));
  }
  for (const edge of edgeUrls) {
    for (const path of [...ids.slice(0, 1), ...skus.slice(0, 1).map((sku) => `pz/${sku}`)]) {
      if (!(await isCached(`${edge}/api/v1/products/${path}`))) differences.push(`${path} not cached at ${edge}`);
    }
  }
  return differences;
}

/** Whether the cache of an edge has the response. */
async function isCached(url: string): Promise<boolean> {
  const { headers } = await fetch(url).catch(() => new Response());
  return headers.get("x-varnish")?.includes(" ") === true;
}
