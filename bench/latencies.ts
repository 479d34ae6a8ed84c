/** Steps between one power of two and the next: neighbours differ by 1 %. */
const steps = 64;
/** From a microsecond up to a minute. */
const powers = 26;

/** How often each duration was seen, in steps of 1 %: as small for a million of them as for ten. */
export class Latencies {
  #counts = new Uint32Array(steps * powers + 1);
  #total = 0;
  #mostMs = 0;

  add(ms: number): void {
    const step = Math.floor(Math.log2(Math.max(ms * 1000, 1)) * steps);
    const place = Math.min(step, this.#counts.length - 1);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#total++;
    if (ms > this.#mostMs) this.#mostMs = ms;
  }

  /** The duration in milliseconds that a share of all, from 0 to 1, does not exceed; 0 when there is none. */
  atMs(share: number): number {
    let left = Math.ceil(this.#total * share);
    if (left === 0) return 0;
    for (const [step, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return Math.min(2 ** ((step + 1) / steps) / 1000, this.#mostMs);
    }
    return this.#mostMs;
  }

  get mostMs(): number {
    return this.#mostMs;
  }
}
