import { createRandom, createSequence } from "../../bench/support/sequence.ts";
import { feedVersion } from "./feed.ts";
import type { StoreHistory } from "./store-history.ts";
import { itemOf, original, personalization } from "./store-watcher.ts";

/** A response promises that it is not older than a second and its `Age`: whole seconds, rounded down. */
export function promisedMs({ headers }: Response): number {
  const age = headers.get("age");
  return 1000 + (age === null ? 0 : (Number(age) + 1) * 1000);
}

/** Versions that a product has in its response: one, or none if it was never edited. */
export const versionsOf = (text: string) => text.match(/(?<="(title|vendor)":")v\d+(?=")/g) ?? [];

/** A product without the values that an edit changes: the first title and vendor are its own. */
export const withoutVersion = (text: string) =>
  text
    .replace(/"title":"(?:[^"\\]|\\.)*"/, "")
    .replace(/"vendor":"(?:[^"\\]|\\.)*"/, "")
    .replace(/"updated_at":"[^"]*"/g, "");

const timeoutMs = 20_000;
/** Balancers and edges say that nothing behind them can answer; the service, that it cannot reach its store. */
const unavailable: readonly number[] = [502, 503, 504];

export interface Second {
  requests: number;
  failed: number;
  /** Responses with an `Age`. */
  aged: number;
  old: number;
  longestMs: number;
}

export interface Problem {
  readonly atMs: number;
  readonly what: string;
}

export interface ShopperOptions {
  /** Points of presence. A client that one does not answer asks another, as anycast and DNS do. */
  readonly edges: readonly string[];
  /** Balancers, for programs that do not use the CDN. */
  readonly origins: readonly string[];
  /** The response for each product before any edit. */
  readonly products: ReadonlyMap<string, string | undefined>;
  readonly skus: readonly string[];
  /** The response for a SKU when the feed has a version. */
  readonly responseOf: (sku: string, version: string) => string;
  readonly history: StoreHistory;
  /** Requests per second. */
  readonly rate: number;
}

/** Sends requests at a steady rate, by Zipf's law, and judges the responses. */
export class Shoppers {
  readonly seconds: Second[] = [];
  readonly failures: Problem[] = [];
  /** Responses 503 with `Retry-After`, which the service gives while it cannot reach its store. */
  readonly refused: Problem[] = [];
  readonly old: Problem[] = [];
  readonly mixed: Problem[] = [];
  /** Responses that no fault excuses: another status, or other content. */
  readonly incorrect: Problem[] = [];
  /** Requests that a second edge or balancer answered. */
  repeated = 0;
  /** Responses from the cache of an edge. */
  edgeHits = 0;
  edgeRequests = 0;
  readonly begunMs = performance.now();
  readonly #options: ShopperOptions;
  readonly #random = createRandom(11);
  readonly #productIds: readonly string[];
  readonly #pickProduct: () => number;
  readonly #pickSku: () => number;
  #isOver = false;
  readonly #underWay = new Set<Promise<void>>();
  readonly #sending: Promise<void>;

  constructor(options: ShopperOptions) {
    this.#options = options;
    this.#productIds = [...options.products.keys()];
    this.#pickProduct = createSequence("zipf", this.#productIds.length, 1);
    this.#pickSku = createSequence("zipf", options.skus.length, 2);
    this.#sending = this.#send();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#sending;
    await Promise.all(this.#underWay);
  }

  get requests(): number {
    return this.seconds.reduce((sum, { requests }) => sum + requests, 0);
  }

  async #send(): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const dueMs = this.begunMs + (number * 1000) / this.#options.rate;
      await Bun.sleep(Math.max(0, dueMs - performance.now()));
      const request = this.#request().finally(() => this.#underWay.delete(request));
      this.#underWay.add(request);
    }
  }

  #secondAt(ms: number): Second {
    const index = Math.floor((ms - this.begunMs) / 1000);
    while (this.seconds.length <= index) {
      this.seconds.push({ requests: 0, failed: 0, aged: 0, old: 0, longestMs: 0 });
    }
    return this.seconds[index] as Second;
  }

  async #request(): Promise<void> {
    const { edges, origins, skus } = this.#options;
    const dice = this.#random();
    const isAtEdge = this.#random() < 0.8;
    const id = this.#productIds[this.#pickProduct()] as string;
    const sku = skus[this.#pickSku()] as string;
    const path = dice < 0.6 ? `/products/${id}` : dice < 0.97 ? `/products/pz/${sku}` : "/histories";
    const sentMs = performance.now();
    const second = this.#secondAt(sentMs);
    second.requests++;
    try {
      const { response, text } = await this.#fetch(isAtEdge ? edges : origins, `/api/v1${path}`);
      if (isAtEdge) this.edgeRequests++;
      if (response.headers.get("x-varnish")?.includes(" ")) this.edgeHits++;
      second.longestMs = Math.max(second.longestMs, performance.now() - sentMs);
      const where = `${path} ${isAtEdge ? "at an edge" : "at a balancer"}`;
      const said = `status ${response.status}: ${text.slice(0, 120)}`;
      const isRight =
        response.status === 200 ? this.#isRight(text, path, id, sku) : unavailable.includes(response.status);
      if (!isRight) this.incorrect.push({ atMs: sentMs, what: `${where}: ${said}` });
      if (response.status === 503 && response.headers.has("retry-after")) {
        this.refused.push({ atMs: sentMs, what: where });
        return;
      }
      if (response.status !== 200) throw new Error(said);
      if (response.headers.has("age")) second.aged++;
      if (dice < 0.97) this.#judge(where, dice < 0.6 ? itemOf(id) : personalization, text, response, sentMs, second);
    } catch (error) {
      second.failed++;
      const tookMs = Math.round(performance.now() - sentMs);
      this.failures.push({ atMs: sentMs, what: `${path} after ${tookMs} ms: ${(error as Error).message}` });
    }
  }

  async #fetch(places: readonly string[], path: string): Promise<{ response: Response; text: string }> {
    const first = Math.floor(this.#random() * places.length);
    for (let attempt = 0; ; attempt++) {
      const url = (places[(first + attempt) % places.length] ?? "") + path;
      try {
        const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
        return { response, text: await response.text() };
      } catch (error) {
        if (attempt === places.length - 1) throw error;
        this.repeated++;
      }
    }
  }

  /** Whether it is the response to that request, whichever version it has. */
  #isRight(text: string, path: string, id: string, sku: string): boolean {
    const { products, responseOf } = this.#options;
    if (path.endsWith(`/${sku}`)) return text.replaceAll(feedVersion, "v") === responseOf(sku, "v");
    if (path.endsWith(`/${id}`)) return withoutVersion(text) === withoutVersion(products.get(id) ?? "");
    return text.startsWith('{"histories":[{"brand":');
  }

  #judge(where: string, item: string, text: string, response: Response, sentMs: number, second: Second): void {
    const versions = new Set(item === personalization ? text.match(feedVersion) : versionsOf(text));
    if (versions.size > 1) this.mixed.push({ atMs: sentMs, what: `${where}: ${[...versions].join(" and ")}` });
    // Most SKUs use no group that the feed changes.
    if (item === personalization && versions.size === 0) return;
    const [version = original] = versions;
    const doubted = (oldForMs: number) => {
      if (oldForMs <= promisedMs(response)) return;
      second.old++;
      const age = response.headers.get("age");
      this.old.push({
        atMs: sentMs,
        what: `${where}: ${version}, age ${age}, replaced ${Math.round(oldForMs)} ms before`,
      });
    };
    this.#options.history.check({ item, version, sentMs, doubted });
  }
}
