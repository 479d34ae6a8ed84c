import { subscriptionDocuments } from "./subscription-queries.ts";

/** Version of the Admin API that the documents are written for. */
export const apiVersion = "2026-10";

export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export interface ShopifyShop {
  /** Stays the same when the shop's domain changes. */
  readonly id: string;
  readonly myshopifyDomain: string;
  readonly ianaTimezone: string;
}

export interface ShopifyMetafield {
  readonly id: string;
  /** Decimal text of up to 64 bits. */
  readonly legacyResourceId: string;
  readonly namespace: string;
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly description: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ShopifyImage {
  readonly id: string | null;
  readonly url: string;
  readonly altText: string | null;
  readonly width: number | null;
  readonly height: number | null;
}

/** The medium behind an image: the only source of an image's timestamps. */
export interface ShopifyMedia {
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly image?: { readonly url: string } | null;
}

export interface ShopifyVariant {
  readonly id: string;
  readonly legacyResourceId: string;
  readonly title: string;
  readonly sku: string | null;
  readonly barcode: string | null;
  readonly position: number;
  readonly price: string;
  readonly compareAtPrice: string | null;
  readonly taxable: boolean;
  readonly taxCode: string | null;
  readonly inventoryPolicy: string;
  readonly inventoryQuantity: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly selectedOptions: readonly { readonly name: string; readonly value: string }[];
  readonly image: { readonly id: string | null } | null;
  readonly inventoryItem: {
    readonly legacyResourceId: string;
    readonly tracked: boolean;
    readonly requiresShipping: boolean;
    readonly measurement: { readonly weight: { readonly unit: string; readonly value: number } | null };
  };
}

export interface ShopifyOption {
  readonly id: string;
  readonly name: string;
  readonly position: number;
  readonly values: readonly string[];
}

/** A product without its paginated lists. */
export interface ShopifyProductCore {
  readonly id: string;
  readonly legacyResourceId: string;
  readonly title: string;
  readonly descriptionHtml: string;
  readonly handle: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly publishedAt: string | null;
  readonly productType: string;
  readonly status: string;
  readonly tags: readonly string[];
  readonly templateSuffix: string | null;
  readonly vendor: string;
  readonly options: readonly ShopifyOption[];
}

export interface CompleteVariant extends ShopifyVariant {
  readonly metafields: readonly ShopifyMetafield[];
}

/**
 * A product with all of its variants, metafields, images, and media, each list in Shopify's order.
 */
export interface CompleteProduct extends ShopifyProductCore {
  readonly images: readonly ShopifyImage[];
  readonly media: readonly ShopifyMedia[];
  readonly metafields: readonly ShopifyMetafield[];
  readonly variants: readonly CompleteVariant[];
}

const coreFields = `
  id legacyResourceId title descriptionHtml handle createdAt updatedAt publishedAt productType status tags
  templateSuffix vendor
  options { id name position values }`;

const variantFields = `
  id legacyResourceId title sku barcode position price compareAtPrice taxable taxCode inventoryPolicy inventoryQuantity
  createdAt updatedAt
  selectedOptions { name value }
  image { id }
  inventoryItem { legacyResourceId tracked requiresShipping measurement { weight { unit value } } }`;

const metafieldFields = "id legacyResourceId namespace key value type description createdAt updatedAt";

// Product.images is deprecated, but is the only source of the contract's image identifiers.
const imageFields = "id url altText width height";

const mediaFields = "... on MediaImage { createdAt updatedAt image { url } }";

const pageInfo = "pageInfo { hasNextPage endCursor }";

const metafieldsPage = (first: string) => `metafields(first: ${first}) { nodes { ${metafieldFields} } ${pageInfo} }`;

/** The first pages of a product. The caller chooses their sizes, which determine the cost. */
const productById = `
query ProductById($id: ID!, $images: Int!, $variants: Int!, $variantMetafields: Int!, $metafields: Int!) {
  shop { id myshopifyDomain ianaTimezone }
  product(id: $id) {
    ${coreFields}
    images(first: $images, sortKey: POSITION) { nodes { ${imageFields} } ${pageInfo} }
    media(first: $images, sortKey: POSITION, query: "media_type:IMAGE") { nodes { ${mediaFields} } ${pageInfo} }
    ${metafieldsPage("$metafields")}
    variants(first: $variants, sortKey: POSITION) {
      nodes { ${variantFields} ${metafieldsPage("$variantMetafields")} }
      ${pageInfo}
    }
  }
}`;

const productVariantsPage = `
query ProductVariantsPage($id: ID!, $first: Int!, $after: String, $variantMetafields: Int!) {
  product(id: $id) {
    updatedAt
    variants(first: $first, after: $after, sortKey: POSITION) {
      nodes { ${variantFields} ${metafieldsPage("$variantMetafields")} }
      ${pageInfo}
    }
  }
}`;

const productMetafieldsPage = `
query ProductMetafieldsPage($id: ID!, $first: Int!, $after: String) {
  product(id: $id) {
    updatedAt
    metafields(first: $first, after: $after) { nodes { ${metafieldFields} } ${pageInfo} }
  }
}`;

const variantMetafieldsPage = `
query VariantMetafieldsPage($id: ID!, $productId: ID!, $first: Int!, $after: String) {
  product(id: $productId) { updatedAt }
  productVariant(id: $id) {
    metafields(first: $first, after: $after) { nodes { ${metafieldFields} } ${pageInfo} }
  }
}`;

const productImagesPage = `
query ProductImagesPage($id: ID!, $first: Int!, $after: String) {
  product(id: $id) {
    updatedAt
    images(first: $first, after: $after, sortKey: POSITION) { nodes { ${imageFields} } ${pageInfo} }
  }
}`;

const productMediaPage = `
query ProductMediaPage($id: ID!, $first: Int!, $after: String) {
  product(id: $id) {
    updatedAt
    media(first: $first, after: $after, sortKey: POSITION, query: "media_type:IMAGE") {
      nodes { ${mediaFields} }
      ${pageInfo}
    }
  }
}`;

/** Cheap, so that only products that changed are read in full. */
const productsUpdatedSince = `
query ProductsUpdatedSince($query: String, $first: Int!, $after: String) {
  products(first: $first, after: $after, query: $query, sortKey: UPDATED_AT) {
    nodes { legacyResourceId updatedAt }
    ${pageInfo}
  }
}`;

const shop = "query Shop { shop { id myshopifyDomain ianaTimezone } }";

// Without a limit, the count ends at 10,000.
const productsCount = "query ProductsCount { productsCount(limit: null) { count } }";

const deletionsSince = `
query DeletionsSince($query: String!, $first: Int!, $after: String) {
  deletionEvents(first: $first, after: $after, query: $query, subjectTypes: [PRODUCT], sortKey: CREATED_AT) {
    nodes { occurredAt subjectId }
    ${pageInfo}
  }
}`;

const destructionsSince = `
query DestructionsSince($query: String!, $first: Int!, $after: String) {
  events(first: $first, after: $after, query: $query, sortKey: CREATED_AT) {
    nodes { action createdAt ... on BasicEvent { subjectId } }
    ${pageInfo}
  }
}`;

// Grouped, so that siblings keep their order, which is the only position that an image has.
const bulkRun = `
mutation BulkRun($query: String!) {
  bulkOperationRunQuery(query: $query, groupObjects: true) {
    bulkOperation { id status }
    userErrors { code field message }
  }
}`;

const bulkOperation = `
query BulkOperation($id: ID!) {
  bulkOperation(id: $id) { id status errorCode objectCount fileSize url }
}`;

const bulkCancel = `
mutation BulkCancel($id: ID!) {
  bulkOperationCancel(id: $id) { bulkOperation { id status } userErrors { field message } }
}`;

/** Every document, by the name of its operation. */
export const documents = {
  ProductById: productById,
  ProductVariantsPage: productVariantsPage,
  ProductMetafieldsPage: productMetafieldsPage,
  VariantMetafieldsPage: variantMetafieldsPage,
  ProductImagesPage: productImagesPage,
  ProductMediaPage: productMediaPage,
  ProductsUpdatedSince: productsUpdatedSince,
  ProductsCount: productsCount,
  DeletionsSince: deletionsSince,
  DestructionsSince: destructionsSince,
  Shop: shop,
  BulkRun: bulkRun,
  BulkOperation: bulkOperation,
  BulkCancel: bulkCancel,
  ...subscriptionDocuments,
};

export type OperationName = keyof typeof documents;

/**
 * The queries of bulk operations. One allows five connections, which `products` uses up, so `media`
 * reads the timestamps of the images. `__typename` and `id` come first, where `bulk/partitions.ts`
 * expects them.
 */
export const bulkQueries = {
  products: `{
  products {
    edges { node {
      __typename ${coreFields}
      images { edges { node { __typename ${imageFields} } } }
      metafields { edges { node { __typename ${metafieldFields} } } }
      variants { edges { node {
        __typename ${variantFields}
        metafields { edges { node { __typename ${metafieldFields} } } }
      } } }
    } }
  }
}`,
  media: `{
  products {
    edges { node {
      __typename id
      media { edges { node { __typename id ${mediaFields} } } }
    } }
  }
}`,
};
