/** A subscription of an app, as the API shows it. */
export interface Subscription {
  readonly __typename: "WebhookSubscription";
  readonly id: string;
  readonly appName: string;
  /** Such as `PRODUCTS_UPDATE`. */
  readonly topic: string;
  readonly uri: string;
  readonly includeFields: readonly string[];
}

export interface SubscriptionInput {
  readonly uri?: string | null;
  readonly includeFields?: readonly string[] | null;
}

/** The webhook subscriptions of all apps in the shop. */
export class Subscriptions {
  readonly #list: Subscription[] = [];
  #last = 0;

  list(appName?: string): Subscription[] {
    return this.#list.filter((subscription) => appName === undefined || subscription.appName === appName);
  }

  /** @returns what is wrong with the input, as a message of the platform */
  create(appName: string, topic: string, input: SubscriptionInput): Subscription | string {
    const problem = this.#findProblem(appName, topic, input.uri, undefined);
    if (problem !== undefined) return problem;
    const created: Subscription = {
      __typename: "WebhookSubscription",
      id: `gid://shopify/WebhookSubscription/${++this.#last}`,
      appName,
      topic,
      uri: input.uri ?? "",
      includeFields: input.includeFields ?? [],
    };
    this.#list.push(created);
    return created;
  }

  update(appName: string, id: string, input: SubscriptionInput): Subscription | string {
    const index = this.#indexOf(appName, id);
    const old = this.#list[index];
    if (old === undefined) return "Webhook subscription does not exist";
    const problem = this.#findProblem(appName, old.topic, input.uri ?? old.uri, id);
    if (problem !== undefined) return problem;
    const updated: Subscription = {
      ...old,
      uri: input.uri ?? old.uri,
      includeFields: input.includeFields ?? old.includeFields,
    };
    this.#list[index] = updated;
    return updated;
  }

  /** @returns whether there was one */
  remove(appName: string, id: string): boolean {
    const index = this.#indexOf(appName, id);
    if (index >= 0) this.#list.splice(index, 1);
    return index >= 0;
  }

  #indexOf(appName: string, id: string): number {
    return this.#list.findIndex((each) => each.appName === appName && each.id === id);
  }

  #findProblem(appName: string, topic: string, uri: string | null | undefined, except: string | undefined) {
    if (!/^(https?:\/\/|pubsub:\/\/|arn:)./.test(uri ?? "")) return "Address is invalid";
    const isTaken = this.list(appName).some((each) => each.topic === topic && each.uri === uri && each.id !== except);
    return isTaken ? "Address for this topic has already been taken" : undefined;
  }
}
