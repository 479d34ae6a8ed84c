/**
 * Collects garbage after so many bytes of content. What its handling leaves behind takes ten times
 * as much, and the engine alone collects too late for a small process.
 */
export class GarbageCollector {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#maxBytes) return;
    this.#bytes = 0;
    Bun.gc(true);
  }
}
