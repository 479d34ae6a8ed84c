import { LRUCache } from "lru-cache";
import type { Database } from "../database/database.ts";
import { type FoundProduct, findProduct, removeProducts, saveProducts, toStored } from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Product } from "../product.ts";

/** Reads one product where it comes from; undefined when there is none. */
export type ReadLive = (
  id: bigint,
  signal: AbortSignal,
) => Promise<{ product: Product; updatedAt: string } | undefined>;

export interface LookupOptions {
  readonly database: Database;
  readonly read: ReadLive;
  readonly log: Log;
  /** Readings a minute, at most: whoever walks identifiers must not spend what the sync and the shop's other apps need. */
  readonly perMinute: number;
  /** Seconds after which a stored product is read again. */
  readonly maxAgeS: number;
}

/** How long it is remembered that there is no such product, or that it could not be read. */
const absentMs = 60_000;
const failedMs = 10_000;
const remembered = 10_000;
/** A shopper waits no longer. */
const timeoutMs = 8000;

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
    const stored = await findProduct(this.#options.database, id);
    if (stored !== undefined) {
      if (this.#isOld(stored)) this.#refresh(id, key);
      return stored;
    }
    const reading = this.#reading.get(key);
    if (reading !== undefined) return await reading;
    const known = this.#known.get(key);
    if (known === "absent") return undefined;
    if (known === "failed" || !this.#spend()) {
      throw new ServiceError(
        "unavailable",
        "The product is not stored, and the platform cannot be asked at the moment",
      );
    }
    return await this.#read(id, key);
  }

  #isOld({ checkedAt }: FoundProduct): boolean {
    return checkedAt === null || Date.now() - Date.parse(checkedAt) > this.#options.maxAgeS * 1000;
  }

  #refresh(id: bigint, key: string): void {
    if (this.#reading.has(key) || this.#known.has(key) || !this.#spend()) return;
    this.#read(id, key)
      .then((found) => (found === undefined ? removeProducts(this.#options.database, [id]) : undefined))
      .catch((error) => this.#options.log.warn({ product: key, err: error }, "an old product could not be read again"));
  }

  #read(id: bigint, key: string): Promise<FoundProduct | undefined> {
    const reading = this.#readOnce(id, key).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #readOnce(id: bigint, key: string): Promise<FoundProduct | undefined> {
    const { database, read } = this.#options;
    const found = await read(id, AbortSignal.timeout(timeoutMs)).catch((cause) => {
      this.#known.set(key, "failed", { ttl: failedMs });
      throw new ServiceError("unavailable", "The platform cannot be reached at the moment", { cause });
    });
    if (found === undefined) {
      this.#known.set(key, "absent", { ttl: absentMs });
      return undefined;
    }
    await saveProducts(database, [toStored(found.product, found.updatedAt)]);
    return await findProduct(database, id);
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
