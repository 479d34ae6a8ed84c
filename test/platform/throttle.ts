export interface BucketSettings {
  /** Points a full bucket holds. */
  readonly maximumAvailable: number;
  /** Points a second. */
  readonly restoreRate: number;
}

export interface ThrottleStatus extends BucketSettings {
  readonly currentlyAvailable: number;
}

/** The platform's plans, as documented. */
export const standardPlan: BucketSettings = { maximumAvailable: 2_000, restoreRate: 100 };

/** The points of one app: spent by queries, restored by time. */
export class Bucket {
  readonly #now: () => number;
  #settings: BucketSettings;
  #available: number;
  #restoredAt: number;

  /** `now` in milliseconds. */
  constructor(settings: BucketSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
    this.#available = settings.maximumAvailable;
    this.#restoredAt = now();
  }

  get status(): ThrottleStatus {
    this.#restore();
    return { ...this.#settings, currentlyAvailable: Math.floor(this.#available) };
  }

  /** Takes the points if all of them are there. */
  take(points: number): boolean {
    this.#restore();
    if (points > this.#available) return false;
    this.#available -= points;
    return true;
  }

  giveBack(points: number): void {
    this.#available = Math.min(this.#settings.maximumAvailable, this.#available + points);
  }

  change(settings: Partial<BucketSettings>, available?: number): void {
    this.#restore();
    this.#settings = { ...this.#settings, ...settings };
    this.#available = Math.min(available ?? this.#available, this.#settings.maximumAvailable);
  }

  #restore(): void {
    const now = this.#now();
    const restored = ((now - this.#restoredAt) / 1000) * this.#settings.restoreRate;
    this.#available = Math.min(this.#settings.maximumAvailable, this.#available + Math.max(0, restored));
    this.#restoredAt = now;
  }
}
