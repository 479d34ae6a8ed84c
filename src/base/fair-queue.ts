const memoryMs = 1000;

export interface Queued {
  /** Network of the waiting client; undefined for the service itself. */
  readonly network: string | undefined;
}

/**
 * A bounded queue in which client networks take turns. Each network may take as many places as it
 * leaves free, so that it never gets more than half of them.
 */
export class FairQueue<Item extends Queued> {
  readonly #maxSize: number;
  /** Oldest first. The network at the front is next. */
  readonly #items = new Map<string | undefined, Set<Item>>();
  #size = 0;
  /** Departures over a time that ends with the last one; older ones count less. */
  readonly #speed = { atMs: 0, elapsedMs: 0, departed: 0 };

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#size;
  }

  hasRoom(network: string | undefined): boolean {
    const room = this.#maxSize - this.#size;
    return room > 0 && (network === undefined || this.#sizeOf(network) < room);
  }

  /** The probable wait of a new item from this network; 0 while nothing has left the queue. */
  expectedWaitMs(network: string | undefined, nowMs: number): number {
    const { atMs, elapsedMs, departed } = this.#speed;
    if (departed === 0 || this.#size === 0) return 0;
    const own = this.#sizeOf(network);
    let before = own;
    // By then, every other network has had as many turns.
    for (const [other, { size }] of this.#items) if (other !== network) before += Math.min(size, own + 1);
    return (before * (elapsedMs + nowMs - atMs)) / departed;
  }

  add(item: Item, nowMs: number): void {
    if (this.#size === 0) Object.assign(this.#speed, { atMs: nowMs, elapsedMs: 0, departed: 0 });
    const items = this.#items.get(item.network) ?? new Set();
    this.#items.set(item.network, items.add(item));
    this.#size++;
  }

  has(item: Item): boolean {
    return this.#items.get(item.network)?.has(item) === true;
  }

  peek(): Item | undefined {
    for (const items of this.#items.values()) for (const item of items) return item;
    return undefined;
  }

  /** Takes the next item, and moves its network to the end. */
  take(): Item | undefined {
    const item = this.peek();
    if (item === undefined) return undefined;
    this.delete(item);
    const others = this.#items.get(item.network);
    if (others === undefined) return item;
    this.#items.delete(item.network);
    this.#items.set(item.network, others);
    return item;
  }

  delete(item: Item): void {
    const items = this.#items.get(item.network);
    if (items?.delete(item) !== true) return;
    this.#size--;
    if (items.size === 0) this.#items.delete(item.network);
  }

  noteDeparted(count: number, nowMs: number): void {
    const speed = this.#speed;
    const sinceMs = nowMs - speed.atMs;
    const kept = Math.exp(-sinceMs / memoryMs);
    speed.elapsedMs = speed.elapsedMs * kept + sinceMs;
    speed.departed = speed.departed * kept + count;
    speed.atMs = nowMs;
  }

  #sizeOf(network: string | undefined): number {
    return this.#items.get(network)?.size ?? 0;
  }
}
