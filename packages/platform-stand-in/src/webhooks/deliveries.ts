import { createRandom, type Range } from "../catalog/random.ts";
import type { Subscription, Subscriptions } from "./subscriptions.ts";

export interface DeliverySettings {
  /** Divides the waits between the attempts, which are four hours together. */
  readonly speedUp: number;
  /** How long after an event it is delivered. A range makes deliveries overtake each other. */
  readonly delayMs: Range;
  /** Share of the deliveries, from 0 to 1, that are sent twice. */
  readonly duplicates: number;
}

export interface DeliveriesOptions {
  readonly settings: DeliverySettings;
  readonly subscriptions: Subscriptions;
  readonly shop: string;
  readonly version: string;
  readonly secretOf: (appName: string) => string;
  readonly seed: number;
}

/** The platform's timeouts. */
const connectTimeoutMs = 1000;
const timeoutMs = 5000;
/** Waits before the retries: each twice as long as the one before, four hours together. */
const retries = 8;
const retryMs = Array.from({ length: retries }, (_, retry) => (4 * 3_600_000 * 2 ** retry) / (2 ** retries - 1));

/** Delivers events to the subscribed addresses, and deletes a subscription that keeps failing. */
export class Deliveries {
  /** Attempts by result, and the subscriptions that were deleted. */
  readonly counts = { delivered: 0, failed: 0, deleted: 0 };
  readonly #options: DeliveriesOptions;
  readonly #random: () => number;
  readonly #stopping = new AbortController();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#random = createRandom(options.seed);
  }

  /**
   * Sends an event to every address that is subscribed to it.
   * @param topic such as `products/update`
   * @param fields the body; a subscription may include only some of them. A bigint has all digits
   */
  send(topic: string, fields: Readonly<Record<string, unknown>>): void {
    const { settings, subscriptions } = this.#options;
    const name = topic.toUpperCase().replace("/", "_");
    const [shortest, longest] =
      typeof settings.delayMs === "number" ? [settings.delayMs, settings.delayMs] : settings.delayMs;
    for (const subscription of subscriptions.list()) {
      if (subscription.topic !== name || !subscription.uri.startsWith("http")) continue;
      const request = this.#createRequest(topic, subscription, fields);
      const copies = this.#random() < settings.duplicates ? 2 : 1;
      for (let copy = 0; copy < copies; copy++) {
        const delayMs = shortest + this.#random() * (longest - shortest);
        void this.#deliver(subscription, request, delayMs);
      }
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  #createRequest(topic: string, { appName, includeFields }: Subscription, fields: Readonly<Record<string, unknown>>) {
    const { shop, version, secretOf } = this.#options;
    const included = Object.entries(fields).filter(
      ([name]) => includeFields.length === 0 || includeFields.includes(name),
    );
    const body = JSON.stringify(Object.fromEntries(included), (_, value: unknown) =>
      typeof value === "bigint" ? rawJson.rawJSON(`${value}`) : value,
    );
    const headers = {
      "Content-Type": "application/json",
      "X-Shopify-Topic": topic,
      "X-Shopify-Shop-Domain": shop,
      "X-Shopify-API-Version": version,
      "X-Shopify-Webhook-Id": crypto.randomUUID(),
      "X-Shopify-Triggered-At": new Date().toISOString(),
      "X-Shopify-Hmac-Sha256": new Bun.CryptoHasher("sha256", secretOf(appName)).update(body).digest("base64"),
    };
    return { method: "POST", body, headers, redirect: "manual" } as const;
  }

  async #deliver(subscription: Subscription, request: RequestInit, delayMs: number): Promise<void> {
    const { settings, subscriptions } = this.#options;
    const { signal } = this.#stopping;
    let waitMs = delayMs;
    for (let attempt = 0; attempt <= retries; attempt++) {
      if (waitMs > 0) await Bun.sleep(waitMs);
      if (signal.aborted) return;
      if (await isAccepted(subscription.uri, request, signal)) {
        this.counts.delivered++;
        return;
      }
      if (signal.aborted) return;
      this.counts.failed++;
      waitMs = (retryMs[attempt] ?? 0) / settings.speedUp;
    }
    if (subscriptions.remove(subscription.appName, subscription.id)) this.counts.deleted++;
  }
}

/** Prints a number with all of its digits; not yet in TypeScript's library. */
const rawJson = JSON as unknown as { rawJSON(text: string): unknown };

async function isAccepted(uri: string, request: RequestInit, signal: AbortSignal): Promise<boolean> {
  try {
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    if (!(await canConnect(new URL(uri)))) return false;
    const response = await fetch(uri, { ...request, signal: timeout });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** A client cannot limit the time to connect, so a connection of its own tries it. */
function canConnect({ hostname, port, protocol }: URL): Promise<boolean> {
  const socket = { data: () => {}, open: (opened: Bun.Socket) => void opened.end() };
  const connecting = Bun.connect({ hostname, port: Number(port) || (protocol === "https:" ? 443 : 80), socket });
  const connected = connecting.then(
    () => true,
    () => false,
  );
  return Promise.race([connected, Bun.sleep(connectTimeoutMs).then(() => false)]);
}
