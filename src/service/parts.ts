/** A part of the service that was started. */
export interface Part {
  /** @param isUrgent whether to skip the time that load balancers get to send requests elsewhere */
  readonly stop: (isUrgent: boolean) => Promise<unknown>;
}

/** The parts of a service in the order in which they were started. */
export class Parts {
  readonly #started: Part[] = [];

  add<Started extends Part>(part: Started): Started {
    this.#started.push(part);
    return part;
  }

  /** Stops them in reverse order. One that fails keeps no other from being stopped. */
  async stop(isUrgent: boolean): Promise<void> {
    const errors: unknown[] = [];
    for (const part of this.#started.toReversed()) await part.stop(isUrgent).catch((error) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}
