import pino from "pino";
import { toArray } from "../../packages/platform-stand-in/src/catalog/list.ts";
import type { ProductRecord } from "../../packages/platform-stand-in/src/catalog/records.ts";
import { defaultApp } from "../../packages/platform-stand-in/src/options.ts";
import { type StandIn, type StandInOptions, startStandIn } from "../../packages/platform-stand-in/src/stand-in.ts";
import type { PlatformProduct, SharedPoints } from "../../src/platforms/platform.ts";
import { createClient, type RequestOptions, type SendRequest } from "../../src/platforms/shopify/client.ts";
import type { OperationName } from "../../src/platforms/shopify/queries.ts";
import { readProduct } from "../../src/platforms/shopify/read-product.ts";
import { type AccessToken, grantedToken, staticToken } from "../../src/platforms/shopify/token.ts";

/** Default timeout of the tests for a response. */
export const live = (signal: AbortSignal = new AbortController().signal): RequestOptions => ({
  priority: "live",
  signal,
});

export interface Connection {
  readonly request: SendRequest;
  /** All logged lines of every level. */
  readonly lines: string[];
}

/** Creates a client without jitter, which retries at once unless the platform asks it to wait. */
export function connect(
  url: string,
  token: AccessToken = staticToken(defaultApp.token),
  points?: SharedPoints,
): Connection {
  const { log, lines } = createMemoryLog();
  return { request: createClient({ url, token, log, points, random: () => 0 }), lines };
}

export function createMemoryLog() {
  const lines: string[] = [];
  return { log: pino({ level: "trace" }, { write: (line: string) => void lines.push(line) }), lines };
}

export const credentialsOf = ({ accessTokenUrl }: StandIn) =>
  grantedToken(accessTokenUrl, defaultApp.clientId, defaultApp.clientSecret);

/** Wraps a client so that a callback runs before each request and is awaited. */
export function watch(
  request: SendRequest,
  tell: (operation: OperationName, variables: object) => unknown,
): SendRequest {
  return async (operation, variables, options) => {
    await tell(operation, variables);
    return await request(operation, variables, options);
  };
}

/** A product as the platform has it now; undefined for one that it does not have. */
export async function readFound(
  request: SendRequest,
  id: bigint,
  options: RequestOptions,
): Promise<PlatformProduct | undefined> {
  return (await readProduct(request, id, options)).found;
}

/** The error that a promise is rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    (value) => new Error(`it was fulfilled with ${Bun.inspect(value).slice(0, 500)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error(`it was rejected with ${Bun.inspect(error)}`);
  return error;
}

/** The ids of a product of the stand-in and of its children. */
export function identifiersOf(product: ProductRecord) {
  const gids = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);
  return {
    id: product.id,
    images: gids(toArray(product.images)),
    metafields: gids(toArray(product.metafields)),
    variants: toArray(product.variants).map(({ id, metafields }) => ({ id, metafields: gids(toArray(metafields)) })),
  };
}

/** A stand-in for one test, which stops at its end. */
export function startOwn(options: StandInOptions) {
  const platform = startStandIn(options);
  return Object.assign(platform, { [Symbol.asyncDispose]: () => platform.stop() });
}
