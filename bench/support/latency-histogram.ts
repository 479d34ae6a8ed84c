/** Buckets per power of two: adjacent buckets differ by 1 %. */
const steps = 64;
/** From one microsecond to one minute. */
const powers = 26;

/** A histogram of durations with a resolution of 1 % and constant size. */
export class LatencyHistogram {
  #counts = new Uint32Array(steps * powers + 1);
  #total = 0;
  #maxMs = 0;

  add(ms: number): void {
    const step = Math.floor(Math.log2(Math.max(ms * 1000, 1)) * steps);
    const place = Math.min(step, this.#counts.length - 1);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#total++;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** Quantile in milliseconds for a share from 0 to 1; 0 without durations. */
  atMs(share: number): number {
    let left = Math.ceil(this.#total * share);
    if (left === 0) return 0;
    for (const [step, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return Math.min(2 ** ((step + 1) / steps) / 1000, this.#maxMs);
    }
    return this.#maxMs;
  }

  get maxMs(): number {
    return this.#maxMs;
  }
}
