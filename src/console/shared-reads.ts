import type { PageRequest } from "../http/page.ts";
import { queryParameter } from "./urls.ts";

interface SharedRead {
  readonly atMs: number;
  readonly value: Promise<unknown>;
}

/** Requests share a reading this old. */
const sharedMs = 4000;

/** Readings of data that several requests may share: one per interval, however many people look. */
export class SharedReads {
  readonly #reads = new Map<string, SharedRead>();

  /**
   * Reads the data of a page. A page that refreshes itself may get the last reading, which may be in
   * progress.
   */
  readFor<Value>(request: PageRequest, name: string, read: () => Promise<Value>): Promise<Value> {
    return queryParameter(request, "refresh") === "shared" ? this.readRecent(name, read) : this.#read(name, read);
  }

  /** Reads data that may be some seconds old; every page does, so old readings are removed here. */
  readRecent<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    for (const [other, { atMs }] of this.#reads) {
      if (performance.now() - atMs > sharedMs) this.#reads.delete(other);
    }
    const last = this.#reads.get(name);
    return last === undefined ? this.#read(name, read) : (last.value as Promise<Value>);
  }

  #read<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    const value = read();
    const shared = { atMs: performance.now(), value };
    this.#reads.set(name, shared);
    value.catch(() => {
      if (this.#reads.get(name) === shared) this.#reads.delete(name);
    });
    return value;
  }
}
