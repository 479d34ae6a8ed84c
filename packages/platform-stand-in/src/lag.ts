import { createRandom } from "./catalog/random.ts";
import type { LagSettings } from "./options.ts";

/** Chooses which reads lag behind. Choices are seeded. */
export class Lag {
  readonly #now: () => number;
  readonly #random: () => number;
  #settings: LagSettings;

  constructor(settings: LagSettings, seed: number, now: () => number) {
    this.#settings = settings;
    this.#random = createRandom(seed);
    this.#now = now;
  }

  change(settings: Partial<LagSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** @returns the time that a read shows, in milliseconds since 1970; undefined for now */
  chooseTime(): number | undefined {
    const { lagMs, probability } = this.#settings;
    if (lagMs === 0 || this.#random() >= probability) return undefined;
    return this.#now() - lagMs;
  }

  get isOfLists(): boolean {
    return this.#settings.lists === true;
  }
}
