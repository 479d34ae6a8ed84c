import type { GraphQLFieldResolver } from "graphql";
import type { DeletionRecord } from "../catalog/deletions.ts";
import { fromArray, type LazyList, reversed, toArray } from "../catalog/list.ts";
import type { ProductSortKey } from "../catalog/product-index.ts";
import type {
  InventoryItemRecord,
  MediaRecord,
  MetafieldRecord,
  ProductRecord,
  VariantRecord,
} from "../catalog/records.ts";
import { parseSearch } from "../catalog/search.ts";
import { byPosition, type OrderedList, type Page, type PageArguments, toPage } from "../paging.ts";
import { cancelBulk, findBulk, listBulk, startBulk } from "./bulk-resolvers.ts";
import type { RequestContext } from "./context.ts";
import { badArgument } from "./errors.ts";
import { kindOf, readId } from "./global-id.ts";
import { filterMedia } from "./media.ts";
import { isPublishedOn, listPublications } from "./publications.ts";
import {
  createSubscription,
  deleteSubscription,
  findSubscription,
  listSubscriptions,
  updateSubscription,
} from "./subscription-resolvers.ts";

/** Documented limit of paging. Narrow the search or use a bulk run to read the rest. */
const pagingEnd = 25_000;
/** Documented of `productsCount`: above its limit the count is "at least". */
const defaultCountLimit = 10_000;

interface ListArguments extends PageArguments {
  readonly reverse?: boolean;
  readonly sortKey?: string;
}

interface IdArguments {
  readonly id: string;
}

/** Fields that are not just a property of their record, by `Type.field`. */
export const resolvers: Readonly<Record<string, GraphQLFieldResolver<never, RequestContext, never>>> = {
  "QueryRoot.shop": (_source, _args, { shop }) => shop,
  "QueryRoot.product": (_source, { id }: IdArguments, { catalog, readsAtMs }) =>
    catalog.findProduct(readId(id, "Product"), readsAtMs),
  "QueryRoot.productByIdentifier": findProduct,
  "QueryRoot.productVariant": (_source, { id }: IdArguments, { catalog, readsAtMs }) =>
    catalog.findVariant(readId(id, "ProductVariant"), readsAtMs)?.variant,
  "QueryRoot.products": listProducts,
  "QueryRoot.productsCount": countProducts,
  "QueryRoot.events": (_source, args: DeletionArguments, { catalog }) =>
    listDeletions(catalog.deletions.list(args.query, "BasicEvent"), args),
  "QueryRoot.deletionEvents": (_source, args: DeletionArguments, { catalog }) =>
    listDeletions(catalog.deletions.list(args.query, "DeletionEvent"), args),
  "QueryRoot.node": (_source, { id }: IdArguments, context) => findNode(id, context),
  "QueryRoot.nodes": (_source, { ids }: { readonly ids: readonly string[] }, context) =>
    ids.map((id) => findNode(id, context)),
  "QueryRoot.bulkOperation": findBulk,
  "QueryRoot.bulkOperations": listBulk,
  "QueryRoot.currentBulkOperation": (_source, _args, { bulk, appName }) => bulk.list(appName)[0],
  "Mutation.bulkOperationRunQuery": startBulk,
  "Mutation.bulkOperationCancel": cancelBulk,
  "QueryRoot.webhookSubscription": findSubscription,
  "QueryRoot.webhookSubscriptions": listSubscriptions,
  "Mutation.webhookSubscriptionCreate": createSubscription,
  "Mutation.webhookSubscriptionUpdate": updateSubscription,
  "Mutation.webhookSubscriptionDelete": deleteSubscription,

  "Product.images": (product: ProductRecord, args: ListArguments) => pageOf(product.images, args, ["POSITION"]),
  "Product.media": listMedia,
  "Product.metafields": listMetafields,
  "Product.variants": listVariants,
  "Product.options": ({ options }: ProductRecord, { first }: PageArguments) =>
    options.slice(0, first ?? options.length),
  "Product.resourcePublications": (product: ProductRecord, args: ListArguments & { readonly onlyPublished: boolean }) =>
    pageOf(fromArray(listPublications(product, args.onlyPublished)), args, []),
  "Product.publishedOnPublication": (product: ProductRecord, args: { readonly publicationId: string }) =>
    isPublishedOn(product, args.publicationId),
  "ProductVariant.metafields": listMetafields,
  "ProductVariant.media": (variant: VariantRecord, args: ListArguments) => pageOf(variant.media, args, []),
  "ProductVariant.product": (variant: VariantRecord, _args, { catalog }) =>
    catalog.findVariant(variant.legacyResourceId)?.product,
  "InventoryItem.inventoryLevels": (item: InventoryItemRecord, args: ListArguments) =>
    pageOf(fromArray([createLevel(item)]), args, []),
};

interface IdentifierArguments {
  /** The schema allows exactly one of the fields. */
  readonly identifier: { readonly id?: string; readonly handle?: string; readonly customId?: object };
}

function findProduct(_source: unknown, { identifier }: IdentifierArguments, { catalog, readsAtMs }: RequestContext) {
  const { id, handle } = identifier;
  if (id !== undefined) return catalog.findProduct(readId(id, "Product"), readsAtMs);
  if (handle !== undefined) return catalog.findByHandle(handle, readsAtMs);
  throw badArgument("The stand-in does not find products by customId", "STAND_IN_LIMIT");
}

interface ProductsArguments extends ListArguments {
  readonly query?: string | null;
  readonly sortKey: string;
  readonly savedSearchId?: string | null;
}

function listProducts(
  _source: unknown,
  args: ProductsArguments,
  { catalog, listsAtMs }: RequestContext,
): Page<ProductRecord> {
  const sortKey = (["ID", "CREATED_AT", "UPDATED_AT"] as const).find(
    (key): key is ProductSortKey => key === args.sortKey,
  );
  if (sortKey === undefined)
    throw badArgument(`The stand-in does not sort products by ${args.sortKey}`, "STAND_IN_LIMIT");
  return toPage(catalog.list(parseSearch(args.query), sortKey, args.reverse === true, listsAtMs), args, pagingEnd);
}

interface DeletionArguments extends ListArguments {
  readonly query?: string | null;
}

function listDeletions(list: OrderedList<DeletionRecord>, args: DeletionArguments): Page<DeletionRecord> {
  if (args.sortKey !== "CREATED_AT" || args.reverse === true)
    throw badArgument("The stand-in lists deletions by CREATED_AT, oldest first", "STAND_IN_LIMIT");
  return toPage(list, args);
}

function countProducts(
  _source: unknown,
  { query, limit = defaultCountLimit }: { readonly query?: string | null; readonly limit?: number | null },
  { catalog }: RequestContext,
): { count: number; precision: "AT_LEAST" | "EXACT" } {
  const found = catalog.list(parseSearch(query), "ID", false).length;
  if (limit === null || found <= limit) return { count: found, precision: "EXACT" };
  return { count: limit, precision: "AT_LEAST" };
}

function findNode(id: string, context: RequestContext): unknown {
  const kind = kindOf(id);
  if (kind === "Product") return context.catalog.findProduct(readId(id, kind));
  if (kind === "ProductVariant") return context.catalog.findVariant(readId(id, kind))?.variant;
  return kind === "BulkOperation" ? findBulk(undefined, { id }, context) : undefined;
}

function listVariants(product: ProductRecord, args: ListArguments, { counters }: RequestContext): Page<VariantRecord> {
  // A request for the first page of variants counts as a read of the product.
  if (args.after == null) counters.countProductRead(product.legacyResourceId);
  return pageOf(product.variants, args, ["POSITION", "ID"]);
}

function listMedia(
  product: ProductRecord,
  args: ListArguments & { readonly query?: string | null },
): Page<MediaRecord> {
  return pageOf(filterMedia(product.media, args.query), args, ["POSITION"]);
}

interface MetafieldArguments extends ListArguments {
  readonly namespace?: string | null;
  readonly keys?: readonly string[] | null;
}

function listMetafields(
  { metafields }: { readonly metafields: LazyList<MetafieldRecord> },
  args: MetafieldArguments,
): Page<MetafieldRecord> {
  const { namespace, keys } = args;
  if (namespace == null && keys == null) return pageOf(metafields, args, []);
  const wanted = toArray(metafields).filter((metafield) => {
    const name = namespace == null ? `${metafield.namespace}.${metafield.key}` : metafield.key;
    return (namespace == null || metafield.namespace === namespace) && (keys == null || keys.includes(name));
  });
  return pageOf(fromArray(wanted), args, []);
}

function pageOf<T extends { readonly id: string }>(
  list: LazyList<T>,
  args: ListArguments,
  sortKeys: readonly string[],
): Page<T> {
  if (args.sortKey !== undefined && !sortKeys.includes(args.sortKey)) {
    throw badArgument(`The stand-in does not sort this list by ${args.sortKey}`, "STAND_IN_LIMIT");
  }
  return toPage(byPosition(args.reverse === true ? reversed(list) : list), args);
}

function createLevel(item: InventoryItemRecord) {
  const location = {
    id: "gid://shopify/Location/70001",
    name: "Warehouse",
    isFulfillmentService: false,
    fulfillmentService: null,
  };
  return { id: `gid://shopify/InventoryLevel/${item.legacyResourceId}`, location };
}
