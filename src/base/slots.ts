/** Slots for concurrent work: first come, first served. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** @returns a slot, which disposal frees; undefined if the signal aborts first */
  async take(signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined;
    return this.tryTake() ?? ((await this.#wait(signal)) ? this.#toSlot() : undefined);
  }

  tryTake(): Disposable | undefined {
    if (this.#free === 0) return undefined;
    this.#free--;
    return this.#toSlot();
  }

  #toSlot(): Disposable {
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (isTaken) this.#release();
        isTaken = false;
      },
    };
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTaken: boolean) => {
        this.#waiting.delete(take);
        signal.removeEventListener("abort", giveUp);
        resolve(isTaken);
      };
      const take = () => end(true);
      const giveUp = () => end(false);
      this.#waiting.add(take);
      signal.addEventListener("abort", giveUp);
    });
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else next();
  }
}
