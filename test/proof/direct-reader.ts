import type { StandIn } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { type Problem, promisedMs, versionsOf } from "./shoppers.ts";
import type { StoreHistory } from "./store-history.ts";
import { itemOf, original } from "./store-watcher.ts";

/** Longer than a response without an `Age` may be old, and one with the lowest. */
const laterMs = 3200;
/** Longer than replicas take to notice a change. */
const noticedMs = 500;
const pauseMs = 30;

export interface DirectReaderOptions {
  readonly replicas: readonly { readonly url: string }[];
  readonly catalog: Pick<StandIn["catalog"], "touch">;
  readonly history: StoreHistory;
  /** Products that nobody else requests or edits. */
  readonly ids: readonly string[];
}

/**
 * Edits products, and reads them at the replicas. A late purge, or a busy machine, excuses no response
 * there that is older than it says.
 */
export class DirectReader {
  /** Responses that were older than they said. */
  readonly old: Problem[] = [];
  /** Responses of which the age was checked. */
  checked = 0;
  readonly #options: DirectReaderOptions;
  #edits = 0;

  constructor(options: DirectReaderOptions) {
    this.#options = options;
  }

  /**
   * Edits the products, and reads them all the time until the store has the edit, and the replicas had
   * time to notice it.
   */
  async edit(): Promise<void> {
    const { history, catalog, ids } = this.#options;
    // Shoppers see no version that is so high.
    const version = `v${1_000_000 + ++this.#edits}`;
    for (const id of ids) catalog.touch(id, { product: { title: version, vendor: version } });
    const isStored = () => ids.every((id) => history.currentVersion(itemOf(id)) === version);
    let storedMs = Number.POSITIVE_INFINITY;
    const reading = (async () => {
      while (performance.now() < storedMs + noticedMs) {
        await this.read();
        await Bun.sleep(pauseMs);
      }
    })();
    await until("the store has the edit", isStored).finally(() => {
      storedMs = performance.now();
    });
    await reading;
  }

  /** Reads all products when edits are so old that each response must show them, or have an `Age`. */
  async readLater(): Promise<void> {
    await Bun.sleep(laterMs);
    await this.read();
  }

  /** Reads all products at each replica. */
  async read(): Promise<void> {
    const { ids, replicas } = this.#options;
    await Promise.all(replicas.flatMap(({ url }) => ids.map((id) => this.#readOne(url, id))));
  }

  async #readOne(url: string, id: string): Promise<void> {
    const sentMs = performance.now();
    const response = await fetch(`${url}/api/v1/products/${id}`);
    const [version = original] = versionsOf(await response.text());
    if (response.status !== 200) return;
    this.checked++;
    const doubted = (oldForMs: number) => {
      if (oldForMs <= promisedMs(response)) return;
      const age = response.headers.get("age");
      const what = `/products/${id} at ${url}: ${version}, age ${age}, replaced ${Math.round(oldForMs)} ms before`;
      this.old.push({ atMs: sentMs, what });
    };
    this.#options.history.check({ item: itemOf(id), version, sentMs, doubted });
  }
}
