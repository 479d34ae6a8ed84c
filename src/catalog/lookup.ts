import { LRUCache } from "lru-cache";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import { type Database, writing } from "../database/database.ts";
import { type FoundProduct, removeMissing, saveProducts, toStoredProduct } from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Product } from "../model/product.ts";

/** Reads one product where it comes from; undefined when there is none. One that is not settled may have changed since. */
export type ReadLive = (
  id: bigint,
  signal: AbortSignal,
) => Promise<{ product: Product; updatedAt: string; isSettled: boolean } | undefined>;

export interface LookupOptions {
  /** Finds a product in the store. */
  readonly find: (id: bigint) => Promise<FoundProduct | undefined>;
  /** Where what was read is written: waiting for that must not stop anybody else. */
  readonly writer: Database;
  readonly read: ReadLive;
  /** Stands before the platform. */
  readonly gate: ConcurrencyLimiter;
  readonly log: Log;
  /** Readings a minute, at most: whoever walks identifiers must not spend what the sync and the shop's other apps need. */
  readonly perMinute: number;
  /** Seconds after which a stored product is read again. */
  readonly maxAgeS: number;
  /** Share of the stored products, from 0 to 1, that may be removed one by one. */
  readonly maxRemovedShare: number;
}

/** How long it is remembered that there is no such product, or that it could not be read. */
const absentMs = 60_000;
const failedMs = 10_000;
const remembered = 10_000;
/** A shopper waits no longer. */
const timeoutMs = 8000;
/** After how long a product that was not settled is read again, and how often; after that it is left to the next request or sync. */
const rereadMs = 2500;
const mostRereads = 3;

/** Finds products in the store and, where that does not have them, at the platform. */
export class Lookup {
  readonly #options: LookupOptions;
  readonly #known = new LRUCache<string, "absent" | "failed">({ max: remembered });
  readonly #reading = new Map<string, Promise<FoundProduct | undefined>>();
  #allowance: number;
  #allowanceAtMs = performance.now();

  constructor(options: LookupOptions) {
    this.#options = options;
    this.#allowance = options.perMinute;
  }

  /**
   * The stored product at once, however old, an old one being read again behind; else the platform's, asked once however many wait.
   * @throws ServiceError `unavailable` when nothing is stored and the platform cannot be asked, or not now
   */
  async find(id: bigint): Promise<FoundProduct | undefined> {
    const key = `${id}`;
    const stored = await this.#options.find(id);
    if (stored !== undefined) {
      if (this.#isOld(stored)) this.#refresh(id, key);
      return stored;
    }
    const reading = this.#reading.get(key);
    if (reading !== undefined) return await reading;
    const known = this.#known.get(key);
    if (known === "absent") return undefined;
    if (known === "failed" || !this.#spend()) throw this.#options.gate.rejection();
    return await this.#read(id, key);
  }

  #isOld({ checkedAt }: FoundProduct): boolean {
    return checkedAt === null || Date.now() - Date.parse(checkedAt) > this.#options.maxAgeS * 1000;
  }

  #refresh(id: bigint, key: string): void {
    if (this.#reading.has(key) || this.#known.has(key) || !this.#spend()) return;
    this.#readBehind(id, key, 0);
  }

  #readBehind(id: bigint, key: string, rereads: number): void {
    this.#read(id, key, rereads)
      .then((found) => (found === undefined ? this.#remove(id, key) : undefined))
      .catch((error) => this.#options.log.warn({ product: key, err: error }, "a product could not be read again"));
  }

  async #remove(id: bigint, key: string): Promise<void> {
    const { writer, maxRemovedShare, log } = this.#options;
    if (await removeMissing(writer, id, maxRemovedShare)) return;
    log.warn(
      { product: key },
      "the platform no longer has this product, and too many have been removed one by one: it stays until catalog-reconcile has compared all",
    );
  }

  #read(id: bigint, key: string, rereads = 0): Promise<FoundProduct | undefined> {
    const reading = this.#readOnce(id, key, rereads).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #readOnce(id: bigint, key: string, rereads: number): Promise<FoundProduct | undefined> {
    const { writer, gate, read } = this.#options;
    const found = await gate
      .run(() => read(id, AbortSignal.timeout(timeoutMs)))
      .catch((cause) => {
        this.#known.set(key, "failed", { ttl: failedMs });
        throw new ServiceError("unavailable", "The platform cannot be reached at the moment", { cause });
      });
    if (found === undefined) {
      this.#known.set(key, "absent", { ttl: absentMs });
      return undefined;
    }
    const product = toStoredProduct(found.product, found.updatedAt, found.isSettled);
    await writing(writer, (sql) => saveProducts({ ...writer, sql }, [product]));
    if (!found.isSettled && rereads < mostRereads) this.#readAgainSoon(id, key, rereads + 1);
    return await this.#options.find(id);
  }

  #readAgainSoon(id: bigint, key: string, rereads: number): void {
    const timer = setTimeout(() => {
      if (!this.#reading.has(key)) this.#readBehind(id, key, rereads);
    }, rereadMs);
    timer.unref();
  }

  /** Takes one reading out of the allowance, which fills up evenly. */
  #spend(): boolean {
    const { perMinute } = this.#options;
    const nowMs = performance.now();
    this.#allowance = Math.min(perMinute, this.#allowance + ((nowMs - this.#allowanceAtMs) / 60_000) * perMinute);
    this.#allowanceAtMs = nowMs;
    if (this.#allowance < 1) return false;
    this.#allowance--;
    return true;
  }
}
