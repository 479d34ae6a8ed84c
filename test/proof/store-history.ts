/** A version of an item in the store. Times are by `performance.now()`. */
interface State {
  readonly version: string;
  /** Ends when a poll finds another version, which is never before that was committed. */
  untilMs: number;
}

/** A response whose version was not the newest that was known when it arrived. */
interface Doubt {
  readonly item: string;
  readonly version: string;
  readonly sentMs: number;
  readonly doubted: (oldForMs: number) => void;
}

/**
 * Which version of each item the store held at which time, as far as polls have seen it. The store
 * may return to an earlier version.
 */
export class StoreHistory {
  readonly #states = new Map<string, State[]>();
  readonly #doubts: Doubt[] = [];

  /** Notes that a poll that ended at this time has found a version. */
  note(item: string, version: string, seenMs: number): void {
    const states = this.#states.get(item);
    if (states === undefined) {
      this.#states.set(item, [{ version, untilMs: Number.POSITIVE_INFINITY }]);
      return;
    }
    const last = states.at(-1) as State;
    if (last.version === version) return;
    last.untilMs = seenMs;
    states.push({ version, untilMs: Number.POSITIVE_INFINITY });
  }

  currentVersion(item: string): string | undefined {
    return this.#states.get(item)?.at(-1)?.version;
  }

  /**
   * How long before a time the store had last held a version; 0 if it held it then. Undefined if no
   * poll has seen it: it is newer than the last poll, or was replaced before the next one.
   */
  oldForMs(item: string, version: string, atMs: number): number | undefined {
    const state = this.#states.get(item)?.findLast((each) => each.version === version);
    return state && Math.max(0, atMs - state.untilMs);
  }

  /** Judges a response, now if it is the newest version, and otherwise once all versions are known. */
  check({ item, version, sentMs, doubted }: Doubt): void {
    if (this.currentVersion(item) !== version) this.#doubts.push({ item, version, sentMs, doubted });
  }

  /** @returns how many responses had a version that no poll has seen */
  settleDoubts(): number {
    let unseen = 0;
    for (const { item, version, sentMs, doubted } of this.#doubts.splice(0)) {
      const oldForMs = this.oldForMs(item, version, sentMs);
      if (oldForMs === undefined) unseen++;
      else if (oldForMs > 0) doubted(oldForMs);
    }
    return unseen;
  }
}
