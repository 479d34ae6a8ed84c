/** The version of the Admin API that the documents are written for. */
export const apiVersion = "2026-10";

export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export interface PlatformShop {
  /** Stays the same when the shop's domain changes. */
  readonly id: string;
  readonly myshopifyDomain: string;
  readonly ianaTimezone: string;
}

export interface PlatformMetafield {
  readonly id: string;
  /** Decimal text: identifiers have up to 64 bits. */
  readonly legacyResourceId: string;
  readonly namespace: string;
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly description: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PlatformImage {
  readonly id: string | null;
  readonly url: string;
  readonly altText: string | null;
  readonly width: number | null;
  readonly height: number | null;
}

/** The medium behind an image: the only source of an image's timestamps. */
export interface PlatformMedia {
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly image?: { readonly url: string } | null;
}

export interface PlatformVariant {
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

export interface PlatformOption {
  readonly id: string;
  readonly name: string;
  readonly position: number;
  readonly values: readonly string[];
}

/** What a product is by itself, without its lists of any length. */
export interface PlatformProductCore {
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
  readonly options: readonly PlatformOption[];
}

export interface CompleteVariant extends PlatformVariant {
  readonly metafields: readonly PlatformMetafield[];
}

/** A product with all of its variants, metafields, images and media, each list in the platform's order. */
export interface CompleteProduct extends PlatformProductCore {
  readonly images: readonly PlatformImage[];
  readonly media: readonly PlatformMedia[];
  readonly metafields: readonly PlatformMetafield[];
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

// Product.images is deprecated, and the only source of the image identifiers that the contract has.
const imageFields = "id url altText width height";

const mediaFields = "... on MediaImage { createdAt updatedAt image { url } }";

const pageInfo = "pageInfo { hasNextPage endCursor }";

const metafieldsPage = (first: string) => `metafields(first: ${first}) { nodes { ${metafieldFields} } ${pageInfo} }`;

/** A product's first pages; the sizes are the caller's, since they are what it costs. */
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

/** Which products changed: cheap, so that only those that did are read in full. */
const productsUpdatedSince = `
query ProductsUpdatedSince($query: String, $first: Int!, $after: String) {
  products(first: $first, after: $after, query: $query, sortKey: UPDATED_AT) {
    nodes { legacyResourceId updatedAt }
    ${pageInfo}
  }
}`;

const shop = "query Shop { shop { id myshopifyDomain ianaTimezone } }";

// Grouped, so that siblings come in the platform's order: an image has no position but its place among its siblings.
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

/** Every document that is sent, by its operation's name. */
export const documents = {
  ProductById: productById,
  ProductVariantsPage: productVariantsPage,
  ProductMetafieldsPage: productMetafieldsPage,
  VariantMetafieldsPage: variantMetafieldsPage,
  ProductImagesPage: productImagesPage,
  ProductMediaPage: productMediaPage,
  ProductsUpdatedSince: productsUpdatedSince,
  Shop: shop,
  BulkRun: bulkRun,
  BulkOperation: bulkOperation,
  BulkCancel: bulkCancel,
};

export type OperationName = keyof typeof documents;

/**
 * The queries of bulk runs. A run takes five connections, which the first uses up; images get their timestamps from a second.
 * `__typename` and `id` come first: the reader of the result looks for them there.
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
