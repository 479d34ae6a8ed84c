const pageInfo = "pageInfo { hasNextPage endCursor }";
const metafieldFields = "id legacyResourceId namespace key value type description createdAt updatedAt ownerType";
const variantFields = `id legacyResourceId title sku barcode position price compareAtPrice taxable taxCode
  inventoryPolicy inventoryQuantity createdAt updatedAt selectedOptions { name value } image { id }
  inventoryItem { legacyResourceId tracked requiresShipping measurement { weight { unit value } } }`;
const productFields = `id legacyResourceId title descriptionHtml handle createdAt updatedAt publishedAt productType
  status tags templateSuffix vendor options { id name position values }`;
const imageFields = "id url altText width height";

/** A product with the first page of each of its lists. */
export const productById = `query ProductById(
  $id: ID!, $imagesFirst: Int! = 100, $mediaFirst: Int! = 100, $variantsFirst: Int! = 50,
  $variantMetafieldsFirst: Int! = 25, $productMetafieldsFirst: Int! = 50
) {
  shop { myshopifyDomain ianaTimezone primaryDomain { host } }
  product(id: $id) {
    ${productFields} variantsCount { count precision }
    images(first: $imagesFirst, sortKey: POSITION) { nodes { ${imageFields} } ${pageInfo} }
    media(first: $mediaFirst, sortKey: POSITION, query: "media_type:IMAGE") {
      nodes {
        id alt mediaContentType status
        ... on MediaImage { createdAt updatedAt image { id url width height } }
      }
      ${pageInfo}
    }
    metafields(first: $productMetafieldsFirst) { nodes { ...MetafieldCore } ${pageInfo} }
    variants(first: $variantsFirst, sortKey: POSITION) {
      nodes {
        ${variantFields}
        metafields(first: $variantMetafieldsFirst) { nodes { ...MetafieldCore } ${pageInfo} }
      }
      ${pageInfo}
    }
  }
}
fragment MetafieldCore on Metafield { ${metafieldFields} }`;

export const productsUpdatedSince = `query ProductsUpdatedSince($query: String!, $first: Int! = 250, $after: String) {
  products(first: $first, after: $after, query: $query, sortKey: UPDATED_AT) {
    nodes { id legacyResourceId updatedAt status } ${pageInfo}
  }
}`;

export const bulk = `
mutation BulkProductsRun($query: String!) {
  bulkOperationRunQuery(query: $query, groupObjects: false) {
    bulkOperation { id status } userErrors { code field message }
  }
}
query BulkOperationById($id: ID!) {
  bulkOperation(id: $id) {
    id status errorCode completedAt objectCount fileSize url partialDataUrl
  }
}
mutation BulkOperationCancel($id: ID!) {
  bulkOperationCancel(id: $id) { bulkOperation { id status } userErrors { field message } }
}`;

const edges = (list: string, fields: string) => `${list} { edges { node { __typename ${fields} } } }`;
const bulkMetafields = edges("metafields", metafieldFields);

/**
 * The inner bulk query for all products, or for those that match `search`. Its five connections, two
 * deep, are the maximum.
 */
export const bulkInner = (search = "") =>
  `{ ${edges(
    `products(query: ${JSON.stringify(search)})`,
    `${productFields} ${edges("images", imageFields)} ${bulkMetafields}
     ${edges("variants", `${variantFields} ${bulkMetafields}`)}`,
  )} }`;
