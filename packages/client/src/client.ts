import { getAnswer, toBody } from "./answer.ts";
import { wait, within } from "./deadline.ts";
import { type ErrorCode, ProductDataError } from "./errors.ts";
import { parseBigints } from "./json.ts";
import { createMemory } from "./memory.ts";
import { retryDelayMs } from "./retry.ts";
import type { Fetch, FoundProduct, Histories, Order, Personalization } from "./types.ts";

export interface CallOptions {
  /** Ends the call, with the code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** For the whole call, further tries and the waits before them included; by default the client's. */
  readonly timeoutMs?: number | undefined;
}

export interface ClientOptions<Bigints extends boolean = boolean> {
  /** For the whole call, further tries and the waits before them included. By default 10,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Further tries, at most: after a 503 that says by `Retry-After` when, if the call's time allows that, and once after a
   * network failure. By default 2.
   */
  readonly retries?: number | undefined;
  /**
   * Answers kept in memory, to be used again when the service says by entity tag that they are still right. By default 100;
   * in a browser none, because its own cache does the same, and for other origins without a preflight request.
   */
  readonly remember?: number | undefined;
  /**
   * Integers beyond 2^53 come as `bigint`, and every identifier has the type `number | bigint`. By default they come as JSON.parse
   * reads them: rounded.
   */
  readonly bigints?: Bigints | undefined;
  /** Instead of the runtime's own. It must end when its signal says so. */
  readonly fetch?: Fetch | undefined;
}

/** Every call rejects with a {@link ProductDataError}, and with nothing else; `toResult` makes that a value. */
export interface Client<Id = number> {
  /** What can be engraved on a SKU; three empty lists when it is unknown. */
  personalization(sku: string, options?: CallOptions): Promise<Personalization>;
  /** The last 10 runs of the jobs, at most. By default the newest first. */
  histories(order?: Order, options?: CallOptions): Promise<Histories>;
  /** A product by the platform's identifier; beyond 2^53 that is exact only as a string or a bigint. */
  product(id: string | number | bigint, options?: CallOptions): Promise<FoundProduct<Id>>;
}

type IdOf<Bigints> = Bigints extends true ? number | bigint : number;

/** @param baseUrl where the service is, without `/api/v1`; in a browser `""` is the page's own origin */
export function createClient<Bigints extends boolean = false>(
  baseUrl: string | URL,
  {
    timeoutMs: clientTimeoutMs = 10_000,
    retries = 2,
    remember = "location" in globalThis ? 0 : 100,
    bigints,
    fetch = (url, init) => globalThis.fetch(url, init),
  }: ClientOptions<Bigints> = {},
): Client<IdOf<Bigints>> {
  const root = `${baseUrl}`.replace(/\/+$/, "");
  const memory = createMemory(remember);

  async function ask(path: string, field: string, signal: AbortSignal): Promise<object> {
    const known = memory.find(path);
    const answer = await getAnswer(fetch, `${root}/api/v1/${path}`, signal, known);
    const body = toBody(answer, field, bigints ? parseBigints : JSON.parse);
    if (answer.tag !== null) memory.save(path, { tag: answer.tag, text: answer.text });
    return body;
  }

  function call(path: string, field: string, { signal, timeoutMs = clientTimeoutMs }: CallOptions = {}) {
    const endsAtMs = performance.now() + timeoutMs;
    return within(timeoutMs, signal, async (own) => {
      for (const past: ErrorCode[] = []; ; ) {
        try {
          return await ask(path, field, own);
        } catch (error) {
          if (!(error instanceof ProductDataError)) throw error;
          const tries = { past, retries, leftMs: endsAtMs - performance.now() };
          const delayMs = retryDelayMs(error, tries, Math.random());
          if (delayMs === undefined) throw error;
          past.push(error.code);
          await wait(delayMs, own);
        }
      }
    });
  }

  return {
    personalization: async (sku, options) =>
      (await call(`products/pz/${toSegment(sku)}`, "pzlines", options)) as Personalization,
    histories: async (order = "desc", options) => (await call(`histories/${order}`, "histories", options)) as Histories,
    product: async (id, options) =>
      (await call(`products/${toSegment(toIdText(id))}`, "product", options)) as FoundProduct<IdOf<Bigints>>,
  };
}

/** @throws ProductDataError `bad_request` for a number that may not be the one that was meant */
function toIdText(id: string | number | bigint): string {
  if (typeof id !== "number" || Number.isSafeInteger(id)) return `${id}`;
  const message = `${id} is not exact as a product id: beyond 2^53 it must be a string or a bigint.`;
  throw new ProductDataError("bad_request", message);
}

/** @throws ProductDataError `bad_request` for text that no address can hold: nothing, dots alone, halves of characters */
function toSegment(text: string): string {
  try {
    if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  } catch {}
  throw new ProductDataError("bad_request", `${JSON.stringify(text)} cannot stand in an address.`);
}
