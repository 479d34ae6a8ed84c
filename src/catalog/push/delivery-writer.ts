import { ServiceError } from "../../base/errors.ts";
import { withTimeout } from "../../base/time.ts";
import type { Database } from "../../database/database.ts";
import type { ProductNews } from "../product.ts";
import { queueReads } from "./queue.ts";

/** How long to wait for more deliveries of a product, so that one read covers them. */
const delayS = 1;
/** Gathers deliveries, because a transaction for each costs five times as much. */
const gatherMs = 20;
/** The arrival of deliveries of a topic is recorded at most this often. */
const noteMs = 1000;
/** Deliveries must continue as soon as a store that hangs recovers. */
const writeTimeoutMs = 4000;

interface Batch {
  readonly news: ProductNews[];
  readonly topics: Set<string>;
  readonly written: Promise<void>;
}

/** Queues reads durably. Deliveries that arrive shortly after one another share a transaction. */
export class DeliveryWriter {
  readonly #database: Database;
  /** When a delivery of each topic was last recorded, by `performance.now()`. */
  readonly #notedMs = new Map<string, number>();
  #next: Batch | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  save(news: ProductNews, topic: string | undefined): Promise<void> {
    this.#next ??= this.#createBatch();
    this.#next.news.push(news);
    const nowMs = performance.now();
    if (topic !== undefined && nowMs - (this.#notedMs.get(topic) ?? Number.NEGATIVE_INFINITY) >= noteMs) {
      this.#notedMs.set(topic, nowMs);
      this.#next.topics.add(topic);
    }
    return this.#next.written;
  }

  #createBatch(): Batch {
    const news: ProductNews[] = [];
    const topics = new Set<string>();
    const written = this.#last.then(async () => {
      await Bun.sleep(gatherMs);
      this.#next = undefined;
      await withTimeout(this.#write(news, topics), writeTimeoutMs, () => {
        throw new ServiceError("unavailable", "the store does not respond");
      });
    });
    this.#last = written.catch(() => {});
    return { news, topics, written };
  }

  async #write(news: readonly ProductNews[], topics: ReadonlySet<string>): Promise<void> {
    const write = () => queueReads(this.#database, news, delayS, topics);
    // A connection can break while the store is reachable, and an idle one shows it only when used.
    // If only the response to the commit was lost, a product is queued twice, but still read once.
    await write().catch((error) => {
      // A connection that leads to a standby since a failover has been closed by now.
      const failure = this.#database.engine.classify(error);
      if (failure !== "lost" && failure !== "read-only") throw error;
      return write();
    });
  }
}
