export interface Part {
  /** @param isUrgent whether to skip the time for load balancers to stop sending requests */
  readonly stop: (isUrgent: boolean) => Promise<unknown>;
}

/** The parts of the service, in the order in which they started. */
export class Parts {
  readonly #started: Part[] = [];

  add<Started extends Part>(part: Started): Started {
    this.#started.push(part);
    return part;
  }

  /** Stops the parts in reverse order, even if one fails. */
  async stop(isUrgent: boolean): Promise<void> {
    const errors: unknown[] = [];
    for (const part of this.#started.toReversed()) await part.stop(isUrgent).catch((error) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}
