export interface BucketSettings {
  /** Size of the bucket in points. */
  readonly maximumAvailable: number;
  /** Points per second. */
  readonly restoreRate: number;
}

export interface ThrottleStatus extends BucketSettings {
  readonly currentlyAvailable: number;
}

/** The platform's standard plan, as documented. */
export const standardPlan: BucketSettings = { maximumAvailable: 2_000, restoreRate: 100 };

/** The rate limit of one app: queries spend points, and time restores them. */
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

  /** Spends the points if that many are available. */
  take(points: number): boolean {
    this.#restore();
    if (points > this.#available) return false;
    this.#available -= points;
    return true;
  }

  refund(points: number): void {
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
