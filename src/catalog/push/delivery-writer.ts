import type { Database } from "../../database/database.ts";
import type { ProductNews } from "../../database/product.ts";
import { queueReads } from "../../database/push-queue.ts";
import { ServiceError } from "../../errors.ts";

/** How long a product waits for more deliveries, which one read then answers. */
const delayS = 1;
/** How long a transaction waits for more deliveries. Alone, each would cost five times as much. */
const gatherMs = 20;
/** A store that does not respond must not hold up the deliveries after it has come back. */
const writeTimeoutMs = 4000;

interface Batch {
  readonly news: ProductNews[];
  readonly written: Promise<void>;
}

/** Queues reads durably. Deliveries that arrive shortly after one another share a transaction. */
export class DeliveryWriter {
  readonly #database: Database;
  #next: Batch | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Settles when the read is queued durably. */
  save(news: ProductNews): Promise<void> {
    this.#next ??= this.#createBatch();
    this.#next.news.push(news);
    return this.#next.written;
  }

  #createBatch(): Batch {
    const news: ProductNews[] = [];
    const written = this.#last.then(async () => {
      await Bun.sleep(gatherMs);
      this.#next = undefined;
      await withTimeout(queueReads(this.#database, news, delayS));
    });
    this.#last = written.catch(() => {});
    return { news, written };
  }
}

function withTimeout(writing: Promise<void>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new ServiceError("unavailable", "the store does not respond")), writeTimeoutMs);
  writing.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}
