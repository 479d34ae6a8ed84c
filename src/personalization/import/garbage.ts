/** Processing this much content leaves twenty times as much garbage. */
const bytesPerCollection = 2 * 2 ** 20;

/** The runtime alone collects too late for a small process; more often would take more time. */
export class GarbageCollector {
  #bytes = 0;

  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < bytesPerCollection) return;
    this.#bytes = 0;
    Bun.gc(true);
  }

  /** Counts pages once they have been used. */
  async *countPages<Row>(pages: AsyncIterable<Row[]>, bytesOf: (row: Row) => number): AsyncGenerator<Row[]> {
    for await (const page of pages) {
      yield page;
      this.count(page.reduce((bytes, row) => bytes + bytesOf(row), 0));
    }
  }
}
