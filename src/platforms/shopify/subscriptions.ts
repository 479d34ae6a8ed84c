import { ServiceError } from "../../base/errors.ts";
import type { Subscriptions } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";
import { listPages } from "./list-pages.ts";
import type { Responses } from "./responses.ts";
import { webhookPath, webhookTopics } from "./webhooks.ts";

type WebhookSubscription = Responses["WebhookSubscriptions"]["webhookSubscriptions"]["nodes"][number];

const pageSize = 100;
/** Whole products may be larger than the service accepts. */
const includeFields = ["id", "updated_at"];

/**
 * @param isReceiving whether the settings have the secret that signs deliveries
 * @param needsHttps false for a stand-in, which delivers on this machine
 */
export function createSubscriptions(request: SendRequest, isReceiving: boolean, needsHttps = true): Subscriptions {
  return {
    topics: webhookTopics,
    path: webhookPath,
    list: async (signal) =>
      (await listAll(request, signal)).map(({ id, topic, uri }) => ({ id, topic: topicOf(topic), address: uri })),
    subscribe: async (address, signal) => {
      if (!isReceiving) {
        throw new ServiceError(
          "invalid_setting",
          "SHOPIFY_WEBHOOK_SECRET: set it to the app's client secret, and restart the service, before you subscribe; " +
            "without it every delivery is refused",
        );
      }
      if (needsHttps && address.startsWith("http:")) {
        throw new ServiceError(
          "bad_request",
          `Shopify delivers only to https, not to ${address}: set PUBLIC_URL to an https:// URL, or give one as --url`,
        );
      }
      await subscribe(request, address, signal);
    },
    unsubscribe: async ({ id }, signal) => {
      await send(request, "WebhookSubscriptionDelete", { id }, signal);
    },
  };
}

const optionsOf = (signal: AbortSignal): RequestOptions => ({ priority: "sync", signal });

/** A topic as deliveries name it, such as `products/update`. */
const topicOf = (name: string) => webhookTopics.find((topic) => nameOf(topic) === name) ?? name;
const nameOf = (topic: string) => topic.toUpperCase().replace("/", "_");

async function listAll(request: SendRequest, signal: AbortSignal): Promise<WebhookSubscription[]> {
  const options = optionsOf(signal);
  const pages = listPages(
    async (after) => (await request("WebhookSubscriptions", { first: pageSize, after }, options)).webhookSubscriptions,
  );
  return (await Array.fromAsync(pages)).flat();
}

/** After a lost response, the next attempt finds the subscription. */
async function subscribe(request: SendRequest, uri: string, signal: AbortSignal): Promise<void> {
  const existing = (await listAll(request, signal)).filter((subscription) => subscription.uri === uri);
  const problems = new Map<string, string>();
  for (const topic of webhookTopics.map(nameOf)) {
    const known = existing.find((subscription) => subscription.topic === topic);
    if (known !== undefined && `${known.includeFields}` === `${includeFields}`) continue;
    const input = { uri, format: "JSON", includeFields };
    const problem = await (known === undefined
      ? send(request, "WebhookSubscriptionCreate", { topic, input }, signal)
      : send(request, "WebhookSubscriptionUpdate", { id: known.id, input }, signal));
    if (problem !== undefined) problems.set(topic, problem);
  }
  if (problems.size === 0) return;
  // A request that was sent twice fails the second time.
  const now = (await listAll(request, signal)).filter((subscription) => subscription.uri === uri);
  for (const [topic, problem] of problems) {
    if (now.some((subscription) => subscription.topic === topic)) continue;
    throw new ServiceError("bad_request", `Shopify refuses to deliver ${topicOf(topic)} to ${uri}: ${problem}`);
  }
}

type Mutation = "WebhookSubscriptionCreate" | "WebhookSubscriptionUpdate" | "WebhookSubscriptionDelete";

/** @returns what Shopify finds wrong; undefined if nothing is */
async function send(
  request: SendRequest,
  operation: Mutation,
  variables: object,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { payload } = await request(operation, variables, optionsOf(signal));
  return payload === null ? "no reason given" : payload.userErrors[0]?.message;
}
