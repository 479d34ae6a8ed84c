import type { KeptFields } from "../platform.ts";
import { type OptionalField, optionalFields } from "./optional-fields.ts";

/** A selection: its fields in order, each with its arguments and its own selection. */
type Selection = readonly string[];

const core: Selection = [
  ..."id legacyResourceId title descriptionHtml handle createdAt updatedAt publishedAt".split(" "),
  ..."productType status tags templateSuffix vendor isGiftCard".split(" "),
  "options { id name position values }",
];

const variantScalars: Selection = [
  ..."id legacyResourceId title sku barcode position price compareAtPrice taxable taxCode".split(" "),
  ..."inventoryPolicy inventoryQuantity createdAt updatedAt".split(" "),
  "selectedOptions { name value }",
  "image { id }",
];

const inventoryItem: Selection = [
  ..."legacyResourceId tracked requiresShipping".split(" "),
  "measurement { weight { unit value } }",
];

const metafield: Selection = "id legacyResourceId namespace key value type description createdAt updatedAt".split(" ");

// Product.images is deprecated, but is the only source of the contract's image identifiers.
const image: Selection = "id url altText width height".split(" ");

const onlyImages = 'sortKey: POSITION, query: "media_type:IMAGE"';

const mediaFields = "... on MediaImage { createdAt updatedAt image { url } }";

const publicationFields = "publishDate publication { id }";

const pageInfo = "pageInfo { hasNextPage endCursor }";

/** The documents that select the same whatever the settings are. */
const fixedDocuments = {
  Shop: "query Shop { shop { id myshopifyDomain ianaTimezone weightUnit } }",
  // Grouped, so that siblings keep their order, which is the only position that an image has.
  BulkRun: `
mutation BulkRun($query: String!) {
  bulkOperationRunQuery(query: $query, groupObjects: true) {
    bulkOperation { id status }
    userErrors { code field message }
  }
}`,
  BulkOperation: `
query BulkOperation($id: ID!) {
  bulkOperation(id: $id) { id status errorCode completedAt objectCount fileSize url }
}`,
  BulkCancel: `
mutation BulkCancel($id: ID!) {
  bulkOperationCancel(id: $id) { bulkOperation { id status } userErrors { field message } }
}`,
  // Cheap, so that only products that changed are read in full.
  ProductsUpdatedSince: `
query ProductsUpdatedSince($query: String, $first: Int!, $after: String) {
  products(first: $first, after: $after, query: $query, sortKey: UPDATED_AT) {
    nodes { legacyResourceId updatedAt } ${pageInfo}
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
    nodes { legacyResourceId } ${pageInfo}
  }
}`,
  // Without a limit, the count ends at 10,000.
  ProductsCount: "query ProductsCount { productsCount(limit: null) { count } }",
  DeletionsSince: `
query DeletionsSince($query: String!, $first: Int!, $after: String) {
  deletionEvents(first: $first, after: $after, query: $query, subjectTypes: [PRODUCT], sortKey: CREATED_AT) {
    nodes { occurredAt subjectId } ${pageInfo}
  }
}`,
  DestructionsSince: `
query DestructionsSince($query: String!, $first: Int!, $after: String) {
  events(first: $first, after: $after, query: $query, sortKey: CREATED_AT) {
    nodes { action createdAt ... on BasicEvent { subjectId } } ${pageInfo}
  }
}`,
  WebhookSubscriptions: `
query WebhookSubscriptions($first: Int!, $after: String) {
  webhookSubscriptions(first: $first, after: $after) {
    nodes { id topic uri includeFields } ${pageInfo}
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

export interface DocumentOptions {
  readonly refused?: ReadonlySet<OptionalField>;
  /** Global identifier of the publication whose products are visible; empty for the online store. */
  readonly publication?: string;
  /** Namespaces of the metafields to read; all by default. */
  readonly namespaces?: readonly string[];
}

export function createDocuments({ refused = new Set(), publication = "", namespaces = [] }: DocumentOptions = {}) {
  const select = (type: string, fields: Selection) =>
    fields.filter((field) => !refused.has(`${type}.${/^\w+/.exec(field)}` as OptionalField)).join(" ");
  const [metafieldFields, imageFields] = [select("Metafield", metafield), select("Image", image)];
  const variantFields = `${select("ProductVariant", variantScalars)}
    inventoryItem { ${select("InventoryItem", inventoryItem)} }`;

  // The API takes one namespace; of several, the others are dropped after reading.
  const [namespace, ...others] = namespaces;
  const ofNamespace = namespace !== undefined && others.length === 0 ? `namespace: ${JSON.stringify(namespace)}` : "";
  const metafieldsPage = (first: string) =>
    `metafields(first: ${first} ${ofNamespace}) { nodes { ${metafieldFields} } ${pageInfo} }`;
  const pagedVariant = [variantFields, select("ProductVariant", [metafieldsPage("$variantMetafields")])].join(" ");

  /** The first pages of a product. The caller chooses their sizes, which determine the cost. */
  const scheduledToo = "onlyPublished: false";
  const own = publication === "" ? core : [...core, `publishedOnPublication(publicationId: "${publication}")`];
  const firstPages = select("Product", [
    ...own,
    ...(publication === ""
      ? []
      : [`resourcePublications(${scheduledToo}, first: 25) { nodes { ${publicationFields} } }`]),
    `images(first: $images, sortKey: POSITION) { nodes { ${imageFields} } ${pageInfo} }`,
    `media(first: $images, ${onlyImages}) { nodes { ${mediaFields} } ${pageInfo} }`,
    metafieldsPage("$metafields"),
    `variants(first: $variants, sortKey: POSITION) { nodes { ${pagedVariant} } ${pageInfo} }`,
  ]);
  const pageSizes = `$images: Int!, $variants: Int!, ${usedSizes(firstPages)}`;

  const nextPage = (name: string, list: string, choice: string, fields: string) => `
query ${name}($id: ID!, $first: Int!, $after: String, ${usedSizes(fields)}) {
  product(id: $id) {
    updatedAt
    ${list}(first: $first, after: $after, ${choice}) { nodes { ${fields} } ${pageInfo} }
  }
}`;

  const documents = {
    ProductById: `
query ProductById($id: ID!, ${pageSizes}) {
  shop { id myshopifyDomain ianaTimezone weightUnit }
  product(id: $id) { ${firstPages} }
}`,

    // Sorted by id, so that reading can continue after an id.
    ProductsPage: `
query ProductsPage($query: String, $first: Int!, $after: String, ${pageSizes}) {
  shop { id myshopifyDomain ianaTimezone weightUnit }
  products(first: $first, after: $after, query: $query, sortKey: ID) { nodes { ${firstPages} } ${pageInfo} }
}`,

    ProductVariantsPage: nextPage("ProductVariantsPage", "variants", "sortKey: POSITION", pagedVariant),
    ProductMetafieldsPage: nextPage("ProductMetafieldsPage", "metafields", ofNamespace, metafieldFields),

    VariantMetafieldsPage: `
query VariantMetafieldsPage($id: ID!, $productId: ID!, $first: Int!, $after: String) {
  product(id: $productId) { updatedAt }
  productVariant(id: $id) {
    metafields(first: $first, after: $after ${ofNamespace}) { nodes { ${metafieldFields} } ${pageInfo} }
  }
}`,

    ProductImagesPage: nextPage("ProductImagesPage", "images", "sortKey: POSITION", imageFields),
    ProductMediaPage: nextPage("ProductMediaPage", "media", onlyImages, mediaFields),

    ...fixedDocuments,
  };

  /**
   * A bulk operation allows five connections, which `products` uses up, so `media` reads image times and
   * publications. `bulk/partitions.ts` expects `__typename` and `id` first.
   */
  const all = (field: string, fields: string) => `${field} { edges { node { __typename ${fields} } } }`;
  const metafields = ofNamespace === "" ? "metafields" : `metafields(${ofNamespace})`;
  const publications = publication === "" ? "" : all(`resourcePublications(${scheduledToo})`, publicationFields);
  const bulkQueries = {
    products: `{ ${all(
      "products",
      select("Product", [
        ...own,
        all("images", imageFields),
        all(metafields, metafieldFields),
        all("variants", `${variantFields} ${select("ProductVariant", [all(metafields, metafieldFields)])}`),
      ]),
    )} }`,
    media: `{ ${all("products", `id ${publications} ${select("Product", [all("media", `id ${mediaFields}`)])}`)} }`,
  };
  /** Fields of the contract that the documents do not read. */
  const kept: readonly KeptFields[] = Array.from(refused, (field) => optionalFields[field]);
  return { documents, bulkQueries, kept, namespaces, publication };
}

/** Declares the variables for the sizes of optional lists that a selection has. */
const usedSizes = (selection: string) =>
  ["variantMetafields", "metafields"]
    .filter((name) => new RegExp(`\\$${name}\\b`).test(selection))
    .map((name) => `$${name}: Int!`)
    .join(", ");

/** With every field. */
export const { documents, bulkQueries } = createDocuments();

export type DocumentSet = ReturnType<typeof createDocuments>;
export type OperationName = keyof typeof documents;
