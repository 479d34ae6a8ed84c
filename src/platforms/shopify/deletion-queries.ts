/** The documents about deleted products, by the name of their operation. */
export const deletionDocuments = {
  DeletionsSince: `
query DeletionsSince($query: String!, $first: Int!, $after: String) {
  deletionEvents(first: $first, after: $after, query: $query, subjectTypes: [PRODUCT], sortKey: CREATED_AT) {
    nodes { occurredAt subjectId }
    pageInfo { hasNextPage endCursor }
  }
}`,
  DestructionsSince: `
query DestructionsSince($query: String!, $first: Int!, $after: String) {
  events(first: $first, after: $after, query: $query, sortKey: CREATED_AT) {
    nodes { action createdAt ... on BasicEvent { subjectId } }
    pageInfo { hasNextPage endCursor }
  }
}`,
};
