import { LRUCache } from "lru-cache";
import { type Database, writing } from "../database/database.ts";
import { type FoundProduct, removeProducts, saveProducts, toStored } from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Product } from "../product.ts";
import type { Gate } from "./gate.ts";

/** Reads one product where it comes from; undefined when there is none. */
export type ReadLive = (
  id: bigint,
  signal: AbortSignal,
) => Promise<{ product: Product; updatedAt: string } | undefined>;

export interface LookupOptions {
  /** Finds a product in the store. */
  readonly find: (id: bigint) => Promise<FoundProduct | undefined>;
  /** Where what was read is written: waiting for that must not stop anybody else. */
  readonly writer: Database;
  readonly read: ReadLive;
  /** Stands before the platform. */
  readonly gate: Gate;
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

const removeOne = (writer: Database, id: bigint) => writing(writer, (sql) => removeProducts({ ...writer, sql }, [id]));

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
    if (known === "failed" || !this.#spend()) throw this.#options.gate.refusal();
    return await this.#read(id, key);
  }

  #isOld({ checkedAt }: FoundProduct): boolean {
    return checkedAt === null || Date.now() - Date.parse(checkedAt) > this.#options.maxAgeS * 1000;
  }

  #refresh(id: bigint, key: string): void {
    if (this.#reading.has(key) || this.#known.has(key) || !this.#spend()) return;
    this.#read(id, key)
      .then((found) => (found === undefined ? removeOne(this.#options.writer, id) : undefined))
      .catch((error) => this.#options.log.warn({ product: key, err: error }, "an old product could not be read again"));
  }

  #read(id: bigint, key: string): Promise<FoundProduct | undefined> {
    const reading = this.#readOnce(id, key).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #readOnce(id: bigint, key: string): Promise<FoundProduct | undefined> {
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
    const product = toStored(found.product, found.updatedAt);
    await writing(writer, (sql) => saveProducts({ ...writer, sql }, [product]));
    return await this.#options.find(id);
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
