import pino from "pino";
import { type StandIn, type StandInOptions, startStandIn } from "../../packages/platform-stand-in/src/stand-in.ts";
import { toJson } from "../../src/base/json.ts";
import { readConfig } from "../../src/config/index.ts";
import { createPlatform } from "../../src/platforms/index.ts";
import type { Platform, SharedPoints } from "../../src/platforms/platform.ts";
import { createClient } from "../../src/platforms/shopify/client.ts";
import { readProduct } from "../../src/platforms/shopify/read-product.ts";
import { staticToken } from "../../src/platforms/shopify/token.ts";
import { cleanUp } from "./clean-up.ts";
import type { Environment, RunningService } from "./pds.ts";
import { startServer } from "./server.ts";

export type { ProductChanges, StandIn } from "../../packages/platform-stand-in/src/stand-in.ts";

export const shop = "stand-in.myshopify.com";
export const token = "shpat_stand-in";

/** Enough points that nothing is throttled. */
const unlimitedPoints = { maximumAvailable: 1_000_000, restoreRate: 100_000 };

/**
 * Starts a stand-in with small products that is stopped after the test file. It dates edits
 * back so far that they have settled, so that they are read once. A test of readings right after an
 * edit passes `now: Date.now`.
 */
export function startPlatform(options: StandInOptions = {}): StandIn {
  const small = { variants: 2, images: [0, 2], metafields: 2, variantMetafields: 1 } as const;
  const platform = startStandIn({
    ...small,
    bucket: unlimitedPoints,
    bulk: { createdMs: 0, runningMs: 0 },
    now: () => Date.now() - 150_000,
    ...options,
  });
  cleanUp(() => platform.stop());
  return platform;
}

/** Settings that connect the service to a stand-in. */
export const environmentOf = ({ origin }: { readonly origin: string }): Environment => ({
  SHOP_DOMAIN: shop,
  SHOPIFY_ACCESS_TOKEN: token,
  SHOPIFY_API_URL: origin,
  LOOKUPS_PER_MINUTE: "999999",
  VISIBLE: "all",
});

/** The platform as a new process has it. */
export async function connectPlatform(standIn: Pick<StandIn, "origin">, points?: SharedPoints): Promise<Platform> {
  const config = readConfig({ PDS_CONFIG: "/dev/null", ...environmentOf(standIn) });
  const platform = await createPlatform(config, pino({ level: "silent" }), points);
  if (platform === undefined) throw new Error("the settings name no platform");
  return platform;
}

/**
 * The expected response for each product, from the current data of the platform; undefined if it
 * does not exist there.
 */
export async function readAnswers(platform: StandIn, ids: readonly string[]): Promise<Map<string, string | undefined>> {
  const log = pino({ level: "silent" });
  const request = createClient({ url: platform.graphqlUrl(), token: staticToken(token), log });
  const answers = new Map<string, string | undefined>();
  for (const id of ids) {
    const signal = new AbortController().signal;
    const { found } = await readProduct(request, BigInt(id), { priority: "live", signal });
    answers.set(id, found && `{"product":${toJson(found.product)},"shop":"${shop}","error":null}`);
  }
  return answers;
}

/** The responses of a service; undefined for a product that it does not have. */
export async function getAnswers(
  service: RunningService,
  ids: readonly string[],
): Promise<Map<string, string | undefined>> {
  const answers = new Map<string, string | undefined>();
  for (const id of ids) {
    const response = await service.get(`/api/v1/products/${id}`);
    if (response.status !== 200 && response.status !== 404) throw new Error(`product ${id}: ${response.status}`);
    const text = await response.text();
    answers.set(id, response.status === 200 ? text : undefined);
  }
  return answers;
}

/** Number of requests to the platform, for one operation or in total. */
export function countPlatformRequests({ counters }: StandIn, operation?: string): number {
  if (operation !== undefined) return counters.requests.get(operation) ?? 0;
  return [...counters.requests.values()].reduce((sum, requests) => sum + requests, 0);
}

/** Starts a proxy in front of a platform that changes the documents sent to it, or holds them, and the responses. */
export function relay(
  platform: StandIn,
  change: (document: string) => string | Promise<string>,
  changeResponse?: (text: string) => string,
): { readonly origin: string } {
  const origin = startServer(async (request) => {
    const { query, ...rest } = (await request.json()) as { query: string };
    const headers = new Headers(request.headers);
    headers.delete("content-length");
    headers.delete("host");
    headers.set("accept-encoding", "identity");
    const body = JSON.stringify({ query: await change(query), ...rest });
    const response = await fetch(`${platform.origin}${new URL(request.url).pathname}`, {
      method: "POST",
      headers,
      body,
    });
    return changeResponse === undefined ? response : new Response(changeResponse(await response.text()));
  });
  return { origin };
}
