import { fromArray } from "../catalog/list.ts";
import { byPosition, type Page, type PageArguments, toPage } from "../paging.ts";
import type { Subscription, SubscriptionInput } from "../webhooks/subscriptions.ts";
import type { RequestContext } from "./context.ts";
import { readId } from "./global-id.ts";

interface Payload {
  readonly webhookSubscription: Subscription | null;
  readonly userErrors: readonly { readonly field: readonly string[]; readonly message: string }[];
}

interface InputArguments {
  readonly webhookSubscription: SubscriptionInput;
}

export function createSubscription(
  _source: unknown,
  { topic, webhookSubscription }: InputArguments & { readonly topic: string },
  { subscriptions, appName }: RequestContext,
): Payload {
  return toPayload(subscriptions.create(appName, topic, webhookSubscription));
}

export function updateSubscription(
  _source: unknown,
  { id, webhookSubscription }: InputArguments & { readonly id: string },
  { subscriptions, appName }: RequestContext,
): Payload {
  readId(id, "WebhookSubscription");
  return toPayload(subscriptions.update(appName, id, webhookSubscription));
}

export function deleteSubscription(
  _source: unknown,
  { id }: { readonly id: string },
  { subscriptions, appName }: RequestContext,
) {
  readId(id, "WebhookSubscription");
  if (subscriptions.remove(appName, id)) return { deletedWebhookSubscriptionId: id, userErrors: [] };
  return { deletedWebhookSubscriptionId: null, userErrors: [userError("Webhook subscription does not exist", ["id"])] };
}

export function findSubscription(
  _source: unknown,
  { id }: { readonly id: string },
  { subscriptions, appName }: RequestContext,
): Subscription | undefined {
  readId(id, "WebhookSubscription");
  return subscriptions.list(appName).find((each) => each.id === id);
}

interface ListArguments extends PageArguments {
  readonly topics?: readonly string[] | null;
  readonly uri?: string | null;
}

export function listSubscriptions(
  _source: unknown,
  args: ListArguments,
  { subscriptions, appName }: RequestContext,
): Page<Subscription> {
  const found = subscriptions
    .list(appName)
    .filter(({ topic, uri }) => (args.topics?.includes(topic) ?? true) && (args.uri == null || args.uri === uri));
  return toPage(byPosition(fromArray(found)), args);
}

function toPayload(result: Subscription | string): Payload {
  if (typeof result !== "string") return { webhookSubscription: result, userErrors: [] };
  return { webhookSubscription: null, userErrors: [userError(result, ["webhookSubscription", "callbackUrl"])] };
}

const userError = (message: string, field: readonly string[]) => ({ field, message });
