import { afterAll, describe, expect, test } from "bun:test";
import { createRandom } from "../../packages/platform-stand-in/src/catalog/random.ts";
import {
  findProductState,
  markProductStale,
  noteDelivery,
  noteUpdates,
  type ReadingTimes,
  saveProducts,
  toStoredProduct,
} from "../../src/catalog/product.ts";
import { removeProducts } from "../../src/catalog/product-removal.ts";
import { forgetOldNews, listUnsettledProducts } from "../../src/catalog/product-truth.ts";
import type { Database } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { toProduct } from "../support/catalog.ts";
import { createStore, enginesOf } from "../support/pds.ts";

/** Everything that may happen to a product. Times of reads are seconds from the test's start. */
type Step =
  | { readonly kind: "read"; readonly began: number; readonly updated: number; readonly isSettled: boolean }
  | { readonly kind: "gone"; readonly began: number }
  | { readonly kind: "list" | "delivery"; readonly updated: number }
  | { readonly kind: "stale" }
  | { readonly kind: "forget" };

/** Deliveries come at 0, so a read from then on that begins before this many seconds is unsettled. */
const deliverySettleS = 10;
const goneS = 10;
/** A read that began so much later shows a later state in any case. */
const laterS = 60;
/**
 * Far enough from all limits, and from each other, for a slow machine. Each step adds a second of
 * its own.
 */
const instants = [-85, -40, 40, 85, 130];

const updatedAt = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString().replace(".000", "");

interface Stored {
  readonly began: number;
  readonly updated: number;
  readonly isSettled: boolean;
  /** Number of the step that stored it. */
  readonly version: number;
}

/** The rules in words, from the whole history: the store forgets what it no longer needs. */
class Model {
  #stored: Stored | undefined;
  #isStale = false;
  #newest = -1;
  #isDelivered = false;
  #isKnown = false;
  #goneAt: number | undefined;

  apply(step: Step, version: number): void {
    if (step.kind === "read") this.#read({ ...step, version });
    else if (step.kind === "gone") this.#remove(step.began);
    else if (step.kind === "stale") this.#isStale = true;
    else if (step.kind === "list" || step.kind === "delivery") {
      this.#isKnown = true;
      this.#newest = Math.max(this.#newest, step.updated);
      if (step.kind === "delivery") this.#isDelivered = true;
    }
  }

  get version(): number | undefined {
    return this.#stored?.version;
  }

  get isSettled(): boolean {
    if (this.#stored === undefined || this.#isStale || !this.#stored.isSettled) return false;
    const { began, updated } = this.#stored;
    return (
      updated >= this.#newest && !(this.#isDelivered && began < deliverySettleS) && began >= (this.#goneAt ?? began)
    );
  }

  #read(read: Stored): void {
    if (this.#goneAt !== undefined && read.began < this.#goneAt + goneS) return;
    if (this.#stored !== undefined && !this.#replaces(read, this.#stored)) return;
    this.#isKnown = true;
    this.#stored = read;
    this.#isStale = false;
    if (this.isSettled) this.#goneAt = undefined;
  }

  #replaces(read: Stored, stored: Stored): boolean {
    if (read.began > stored.began + laterS) return true;
    if (read.updated !== stored.updated) return read.updated > stored.updated;
    return read.began >= stored.began && (read.isSettled || !stored.isSettled || this.#isStale);
  }

  #remove(began: number): void {
    if (!this.#isKnown) return;
    if (this.#stored !== undefined && this.#stored.began > began) return;
    this.#stored = undefined;
    this.#isStale = false;
    this.#goneAt = Math.max(began, this.#goneAt ?? began);
  }
}

function createStep(random: () => number, version: number): Step {
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T;
  const kind = pick(["read", "read", "read", "gone", "list", "delivery", "stale", "forget"] as const);
  if (kind === "read") {
    return { kind, began: pick(instants) + version, updated: pick([1, 2, 3]), isSettled: random() < 0.7 };
  }
  if (kind === "gone") return { kind, began: pick(instants) + version };
  return kind === "list" || kind === "delivery" ? { kind, updated: pick([0, 1, 2, 3, 4]) } : { kind };
}

async function apply(database: Database, id: bigint, step: Step, version: number, startMs: number): Promise<void> {
  if (step.kind === "read" || step.kind === "gone") {
    const beganMs = startMs + step.began * 1000;
    const reading: ReadingTimes = { way: "sync", beganMs, endedMs: beganMs, platformMs: Date.now() };
    if (step.kind === "gone") expect(await removeProducts(database, [id], 1, reading)).toBeNumber();
    else {
      const product = toProduct(id, { title: `${version}` });
      const stored = toStoredProduct(product, updatedAt(step.updated), step.isSettled);
      await database.inTransaction((transaction) => saveProducts(transaction, [stored], reading));
    }
  } else if (step.kind === "stale") await markProductStale(database, id);
  else if (step.kind === "forget") await forgetOldNews(database);
  else {
    const news = [{ id, ...(step.updated > 0 && { updatedAt: updatedAt(step.updated) }) }];
    await (step.kind === "list" ? noteUpdates(database, news) : noteDelivery(database, news));
  }
}

describe.each([...enginesOf("sqlite")])(
  "on %s, whatever reads, lists, deliveries, and removals come in any order",
  async (engine) => {
    const database = await openDatabase(await createStore(engine));
    afterAll(() => closeDatabase(database));
    const sequences = engine === "sqlite" ? 250 : 80;

    test("a product is stored and settled exactly as the whole history says", async () => {
      for (let seed = 1; seed <= sequences; seed++) {
        const random = createRandom(seed);
        const id = BigInt(seed);
        const model = new Model();
        const startMs = performance.now();
        const steps: Step[] = [];
        for (let version = 0; version < 10; version++) {
          const step = createStep(random, version);
          steps.push(step);
          model.apply(step, version);
          await apply(database, id, step, version, startMs);
          const state = await findProductState(database, id);
          const expected = model.version === undefined ? undefined : tagOf(id, model.version);
          expect({ seed, steps, tag: state?.tag, isSettled: state?.isSettled ?? false }).toEqual({
            seed,
            steps,
            tag: expected,
            isSettled: model.isSettled,
          });
        }
        const isListed = (await listUnsettledProducts(database)).includes(id);
        if (model.version !== undefined) expect({ seed, isListed }).toEqual({ seed, isListed: !model.isSettled });
      }
    });
  },
);

const tagOf = (id: bigint, version: number) => toStoredProduct(toProduct(id, { title: `${version}` })).tag;
