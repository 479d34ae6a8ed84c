import { readAnswers } from "../support/platform.ts";
import type { Fleet } from "./fleet.ts";

/** Requests under way at a time. */
const concurrency = 8;

/** A request, and the response that its source says it has. */
export interface Comparison {
  readonly url: string;
  readonly expected: string | undefined;
}

/**
 * Every product of the platform, and every SKU of the feed, at each edge and each replica.
 * @param version of the feed
 */
export async function listComparisons(fleet: Fleet, version: string): Promise<Comparison[]> {
  const { platform, erp, edgeUrls, replicas } = fleet;
  const products = await readAnswers(platform, platform.catalog.ids(0, platform.catalog.count));
  const responses = new Map([
    ...products,
    ...erp.skus.map((sku) => [`pz/${sku}`, erp.responseOf(sku, version)] as const),
  ]);
  return [...edgeUrls, ...replicas.map(({ url }) => url)].flatMap((place) =>
    [...responses].map(([path, expected]) => ({ url: `${place}/api/v1/products/${path}`, expected })),
  );
}

/** @returns those with another response */
export async function findDifferent(comparisons: readonly Comparison[]): Promise<Comparison[]> {
  const different: Comparison[] = [];
  const left = comparisons.values();
  const compare = async () => {
    for (const comparison of left) {
      const text = await fetch(comparison.url).then(
        (response) => response.text(),
        (error: Error) => error.message,
      );
      if (text !== comparison.expected) different.push(comparison);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, compare));
  return different;
}

/** Whether the cache of an edge keeps a response. */
export async function isCached(url: string): Promise<boolean> {
  await fetch(url).then((response) => response.text());
  const { headers } = await fetch(url);
  return headers.get("x-varnish")?.includes(" ") === true;
}
