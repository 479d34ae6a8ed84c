import { fromArray } from "../catalog/list.ts";
import { type Page, type PageArguments, pageOf } from "../paging.ts";
import type { Subscription, SubscriptionInput } from "../webhooks/subscriptions.ts";
import type { RequestContext } from "./context.ts";
import { readId } from "./global-id.ts";

interface InputArguments {
  readonly webhookSubscription: SubscriptionInput;
}

export function createSubscription(
  _source: unknown,
  { topic, webhookSubscription }: InputArguments & { readonly topic: string },
  { subscriptions, appName }: RequestContext,
) {
  return toPayload(subscriptions.create(appName, topic, webhookSubscription));
}

export function updateSubscription(
  _source: unknown,
  { id, webhookSubscription }: InputArguments & { readonly id: string },
  { subscriptions, appName }: RequestContext,
) {
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

export function listSubscriptions(
  _source: unknown,
  args: PageArguments,
  { subscriptions, appName }: RequestContext,
): Page<Subscription> {
  return pageOf(fromArray(subscriptions.list(appName)), args);
}

function toPayload(result: Subscription | string) {
  if (typeof result !== "string") return { webhookSubscription: result, userErrors: [] };
  return { webhookSubscription: null, userErrors: [userError(result, ["webhookSubscription", "callbackUrl"])] };
}

const userError = (message: string, field: readonly string[]) => ({ field, message });
