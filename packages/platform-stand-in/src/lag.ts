import { createRandom } from "./catalog/random.ts";

/** Reads of a product that lag behind its edits. */
export interface LagSettings {
  /** At most a minute. */
  readonly lagMs: number;
  /** Share of the requests that lag, from 0 to 1. */
  readonly probability: number;
  /** Whether lists lag, too, and each part of a product in a bulk run on its own. */
  readonly lists?: boolean;
}

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
