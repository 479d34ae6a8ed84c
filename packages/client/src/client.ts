import { createResponseCache } from "./cache.ts";
import { type ErrorCode, ProductDataError } from "./errors.ts";
import { parseBigints } from "./json.ts";
import { parseBody, sendRequest } from "./response.ts";
import { retryDelayMs } from "./retry.ts";
import { delay, withTimeout } from "./timeout.ts";
import type { Fetch, FoundProduct, Histories, LocalizedForm, Order, Personalization } from "./types.ts";

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
   * Maximum number of retries: after a 503 with a `Retry-After` that fits into the timeout, and
   * once after a network failure. Defaults to 2.
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
  /** The personalization of a SKU as a form, in the offered locale that fits best: `fr` for `fr-CA`. */
  form(locale: string, sku: string, options?: CallOptions): Promise<LocalizedForm>;
  /** The last job runs, at most 10. Newest first by default. */
  histories(order?: Order, options?: CallOptions): Promise<Histories>;
  /** A product by its platform ID. Pass IDs beyond 2^53 as a string or bigint. */
  product(id: string | number | bigint, options?: CallOptions): Promise<FoundProduct<Id>>;
}

type IdOf<Bigints> = Bigints extends true ? number | bigint : number;

/**
 * @param baseUrl URL of the service, without `/api/v1`; in a browser, `""` means the page's
 *   origin
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
  const root = `${baseUrl}`.replace(/\/+$/, "");
  const cache = createResponseCache(cacheSize);

  async function attempt(path: string, field: string, signal: AbortSignal): Promise<object> {
    const response = await sendRequest(fetch, `${root}/api/v1/${path}`, signal, cache.find(path));
    const body = parseBody(response, field, bigints ? parseBigints : JSON.parse);
    const { entityTag, text } = response;
    if (entityTag !== null) cache.save(path, { entityTag, text });
    return body;
  }

  function call(path: string, field: string, { signal, timeoutMs = clientTimeoutMs }: CallOptions = {}) {
    const deadlineMs = performance.now() + timeoutMs;
    return withTimeout(timeoutMs, signal, async (callSignal) => {
      for (const previousErrors: ErrorCode[] = []; ; ) {
        try {
          return await attempt(path, field, callSignal);
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
    personalization: async (sku, options) =>
      (await call(`products/pz/${encodeSegment(sku)}`, "pzlines", options)) as Personalization,
    form: async (locale, sku, options) =>
      (await call(`products/form/${encodeSegment(locale)}/${encodeSegment(sku)}`, "styles", options)) as LocalizedForm,
    histories: async (order = "desc", options) => (await call(`histories/${order}`, "histories", options)) as Histories,
    product: async (id, options) =>
      (await call(`products/${encodeSegment(toExactText(id))}`, "product", options)) as FoundProduct<IdOf<Bigints>>,
  };
}

/** @throws ProductDataError `bad_request` for a number that may have been rounded */
function toExactText(id: string | number | bigint): string {
  if (typeof id !== "number" || Number.isSafeInteger(id)) return `${id}`;
  const message = `${id} is not an exact product ID. Pass IDs beyond 2^53 as a string or bigint.`;
  throw new ProductDataError("bad_request", message);
}

/**
 * @throws ProductDataError `bad_request` for text that a URL path can't hold: empty, `.`, `..`,
 *   or a lone surrogate
 */
function encodeSegment(text: string): string {
  try {
    if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  } catch {}
  throw new ProductDataError("bad_request", `${JSON.stringify(text)} cannot be used in a URL path.`);
}
