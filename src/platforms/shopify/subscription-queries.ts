/** The documents about webhook subscriptions, by the name of their operation. */
export const subscriptionDocuments = {
  WebhookSubscriptions: `
query WebhookSubscriptions($first: Int!, $after: String) {
  webhookSubscriptions(first: $first, after: $after) {
    nodes { id topic uri includeFields }
    pageInfo { hasNextPage endCursor }
  }
}`,
  WebhookSubscriptionCreate: `
mutation WebhookSubscriptionCreate($topic: WebhookSubscriptionTopic!, $input: WebhookSubscriptionInput!) {
  payload: webhookSubscriptionCreate(topic: $topic, webhookSubscription: $input) { userErrors { field message } }
}`,
  WebhookSubscriptionUpdate: `
mutation WebhookSubscriptionUpdate($id: ID!, $input: WebhookSubscriptionInput!) {
  payload: webhookSubscriptionUpdate(id: $id, webhookSubscription: $input) { userErrors { field message } }
}`,
  WebhookSubscriptionDelete: `
mutation WebhookSubscriptionDelete($id: ID!) {
  payload: webhookSubscriptionDelete(id: $id) { userErrors { field message } }
}`,
};
