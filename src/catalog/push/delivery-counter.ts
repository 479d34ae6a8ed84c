const deliveryResults = [
  /** A read of the product is queued, or the removal of the app is noted. */
  "accepted",
  "ignored",
  "forged",
  "wrong_shop",
  "too_large",
  "unreadable",
  /** The store could not be written to in time; the platform delivers it again. */
  "unavailable",
] as const;
export type DeliveryResult = (typeof deliveryResults)[number];

/** Other topics share one label, because a sender can invent them without limit. */
const otherTopic = "other";

export class DeliveryCounter {
  readonly #counts = new Map<string, Map<DeliveryResult, number>>();

  constructor(topics: readonly string[]) {
    // Starts at 0, because a rate needs an earlier value.
    for (const topic of [...topics, otherTopic]) {
      this.#counts.set(topic, new Map(deliveryResults.map((result) => [result, 0])));
    }
  }

  count(topic: string | undefined, result: DeliveryResult): void {
    const results = this.#counts.get(topic ?? otherTopic);
    results?.set(result, (results.get(result) ?? 0) + 1);
  }

  list(): { readonly topic: string; readonly result: DeliveryResult; readonly count: number }[] {
    return [...this.#counts].flatMap(([topic, results]) =>
      [...results].map(([result, count]) => ({ topic, result, count })),
    );
  }
}
