/** The documents that find, list, and count products and deletions, by the name of their operation. */
export const listingDocuments = {
  // Cheap, so that only products that changed are read in full.
  ProductsUpdatedSince: `
query ProductsUpdatedSince($query: String, $first: Int!, $after: String) {
  products(first: $first, after: $after, query: $query, sortKey: UPDATED_AT) {
    nodes { legacyResourceId updatedAt }
    pageInfo { hasNextPage endCursor }
  }
}`,
  ProductByHandle: `
query ProductByHandle($handle: String!) {
  productByIdentifier(identifier: {handle: $handle}) { legacyResourceId }
}`,
  // For a page that cannot be read because of one of its products.
  ProductIdsPage: `
query ProductIdsPage($query: String, $first: Int!, $after: String) {
  shop { id }
  products(first: $first, after: $after, query: $query, sortKey: ID) {
    nodes { legacyResourceId }
    pageInfo { hasNextPage endCursor }
  }
}`,
  // Without a limit, the count ends at 10,000.
  ProductsCount: "query ProductsCount { productsCount(limit: null) { count } }",
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
