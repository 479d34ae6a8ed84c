import { createResponseCache } from "./cache.ts";
import { type ErrorCode, ProductDataError } from "./errors.ts";
import { parseBigints } from "./json.ts";
import { type BodyCheck, parseBody, sendRequest } from "./response.ts";
import { retryDelayMs } from "./retry.ts";
import { isFoundProduct, isHistories, isPersonalization, isPersonalizations } from "./shape.ts";
import { shareRequests } from "./shared-requests.ts";
import { delay, withTimeout } from "./timeout.ts";
import type { Fetch, FoundProduct, Histories, Order, Personalization, Personalizations } from "./types.ts";
import { encodeSegment, parseBaseUrl, toExactText, toQuery } from "./url.ts";

export interface CallOptions {
  /** Aborts the call with the code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of the whole call, including retries. Defaults to the client's. */
  readonly timeoutMs?: number | undefined;
}

export interface ClientOptions<Bigints extends boolean = boolean> {
  /** Timeout of a whole call, including retries. Defaults to 10,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum number of retries within the timeout: after 429, 502, 503, and 504, and once after a
   * network failure. Defaults to 2.
   */
  readonly retries?: number | undefined;
  /**
   * Number of responses to cache and revalidate by entity tag. Defaults to 100. Defaults to 0 in
   * browsers, whose own cache does the same without a preflight request to other origins.
   */
  readonly cacheSize?: number | undefined;
  /**
   * Whether to return integers beyond 2^53 as `bigint`; the type of every identifier is then
   * `number | bigint`. By default they are rounded, as `JSON.parse` does.
   */
  readonly bigints?: Bigints | undefined;
  /** Replaces the runtime's `fetch`. It must respect the signal. */
  readonly fetch?: Fetch | undefined;
}

/** Every call rejects only with a {@link ProductDataError}; `toResult` returns it as a value. */
export interface Client<Id = number> {
  /** The personalization of a SKU; three empty lists if the SKU is unknown. */
  personalization(sku: string, options?: CallOptions): Promise<Personalization>;
  /** The personalization of up to 50 SKUs, in their order, each once. */
  personalizations(skus: readonly string[], options?: CallOptions): Promise<Personalizations>;
  /** The last job runs, at most 10. Newest first by default. */
  histories(order?: Order, options?: CallOptions): Promise<Histories>;
  /** A product by its platform ID. Pass IDs beyond 2^53 as a string or bigint. */
  product(id: string | number | bigint, options?: CallOptions): Promise<FoundProduct<Id>>;
  /** A product by its handle, as in its URL on the storefront. */
  productByHandle(handle: string, options?: CallOptions): Promise<FoundProduct<Id>>;
}

type IdOf<Bigints> = Bigints extends true ? number | bigint : number;

/**
 * Identical calls at the same time share one request; each gets objects of its own.
 * @param baseUrl URL of the service, without `/api/v1`; in a browser, `""` means the page's
 *   origin
 * @throws ProductDataError `bad_request` for a base URL that is not one
 */
export function createClient<Bigints extends boolean = false>(
  baseUrl: string | URL,
  {
    timeoutMs: clientTimeoutMs = 10_000,
    retries = 2,
    cacheSize = "location" in globalThis ? 0 : 100,
    bigints,
    fetch = (url, init) => globalThis.fetch(url, init),
  }: ClientOptions<Bigints> = {},
): Client<IdOf<Bigints>> {
  const root = parseBaseUrl(baseUrl);
  const cache = createResponseCache(cacheSize);
  const send = shareRequests((path, signal) => sendRequest(fetch, `${root}/api/v1/${path}`, signal, cache.find(path)));

  async function attempt<Body>(path: string, check: BodyCheck<Body>, signal: AbortSignal): Promise<Body> {
    const response = await send(path, signal);
    const body = parseBody(response, check, bigints ? parseBigints : JSON.parse);
    const { entityTag, text } = response;
    if (entityTag !== null) cache.save(path, { entityTag, text });
    return body;
  }

  function call<Body>(
    path: string,
    check: BodyCheck<Body>,
    { signal, timeoutMs = clientTimeoutMs }: CallOptions = {},
  ): Promise<Body> {
    const deadlineMs = performance.now() + timeoutMs;
    return withTimeout(timeoutMs, signal, async (callSignal) => {
      for (const previousErrors: ErrorCode[] = []; ; ) {
        try {
          return await attempt(path, check, callSignal);
        } catch (error) {
          if (!(error instanceof ProductDataError)) throw error;
          const attempts = { previousErrors, retries, remainingMs: deadlineMs - performance.now() };
          const delayMs = retryDelayMs(error, attempts, Math.random());
          if (delayMs === undefined) throw error;
          previousErrors.push(error.code);
          await delay(delayMs, callSignal);
        }
      }
    });
  }

  return {
    personalization: async (sku, options) => call(`products/pz/${encodeSegment(sku)}`, isPersonalization, options),
    personalizations: async (skus, options) => call(`products/pz${toQuery(skus)}`, isPersonalizations, options),
    histories: async (order = "desc", options) => call(`histories/${encodeSegment(order)}`, isHistories, options),
    product: async (id, options) =>
      call(`products/${encodeSegment(toExactText(id))}`, isFoundProduct<IdOf<Bigints>>, options),
    productByHandle: async (handle, options) =>
      call(`products/handle/${encodeSegment(handle)}`, isFoundProduct<IdOf<Bigints>>, options),
  };
}
