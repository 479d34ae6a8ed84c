import { LRUCache } from "lru-cache";
import type { PageRequest } from "../http/page.ts";
import { queryParameter } from "./urls.ts";

/** Lets requests share what they read, so that the load does not grow with the number of viewers. */
export class SharedReads {
  readonly #reads = new LRUCache<string, Promise<unknown>>({ max: 100, ttl: 4000 });

  /**
   * Reads the data of a page. A page that refreshes itself may get the last reading, which may be in
   * progress.
   */
  readFor<Value>(request: PageRequest, name: string, read: () => Promise<Value>): Promise<Value> {
    return queryParameter(request, "refresh") === "shared" ? this.readRecent(name, read) : this.#read(name, read);
  }

  /** Reads data that may be some seconds old. */
  readRecent<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    return (this.#reads.get(name) as Promise<Value> | undefined) ?? this.#read(name, read);
  }

  #read<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    const value = read();
    this.#reads.set(name, value);
    value.catch(() => {
      if (this.#reads.peek(name) === value) this.#reads.delete(name);
    });
    return value;
  }
}
