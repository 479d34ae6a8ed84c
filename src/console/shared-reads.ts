interface SharedRead {
  readonly atMs: number;
  readonly value: Promise<unknown>;
}

/** Readings of data that several requests may share. */
export class SharedReads {
  readonly #reads = new Map<string, SharedRead>();

  /** Reads anew, for this request and for others that follow. */
  readNow<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    const value = read();
    const shared = { atMs: performance.now(), value };
    this.#reads.set(name, shared);
    value.catch(() => {
      if (this.#reads.get(name) === shared) this.#reads.delete(name);
    });
    return value;
  }

  /** Gives the last reading, which may be in progress, unless it is older than `maxAgeMs`. */
  readRecent<Value>(name: string, maxAgeMs: number, read: () => Promise<Value>): Promise<Value> {
    const last = this.#reads.get(name);
    if (last === undefined || performance.now() - last.atMs > maxAgeMs) return this.readNow(name, read);
    return last.value as Promise<Value>;
  }
}
