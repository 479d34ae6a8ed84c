import type { GraphQLFieldResolver } from "graphql";
import type { DeletionRecord } from "../catalog/deletions.ts";
import { fromArray, type LazyList, toArray } from "../catalog/list.ts";
import type { MetafieldRecord, ProductRecord, VariantRecord } from "../catalog/records.ts";
import { parseSearch } from "../catalog/search.ts";
import { increase } from "../counters.ts";
import { type OrderedList, type Page, type PageArguments, pageOf, toPage } from "../paging.ts";
import { cancelBulk, findBulk, startBulk } from "./bulk-resolvers.ts";
import type { RequestContext } from "./context.ts";
import { badArgument } from "./errors.ts";
import { readId } from "./global-id.ts";
import { filterMedia } from "./media.ts";
import { isPublishedOn, listPublications } from "./publications.ts";
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  updateSubscription,
} from "./subscription-resolvers.ts";

/** Documented limit of paging. Narrow the search or use a bulk run to read the rest. */
const pagingEnd = 25_000;
/** Documented of `productsCount`: above its limit the count is "at least". */
const defaultCountLimit = 10_000;

interface IdArguments {
  readonly id: string;
}

interface IdentifierArguments {
  readonly identifier: { readonly handle: string };
}

/** Fields that are not just a property of their record, by `Type.field`. */
export const resolvers: Readonly<Record<string, GraphQLFieldResolver<never, RequestContext, never>>> = {
  "QueryRoot.shop": (_source, _args, { shop }) => shop,
  "QueryRoot.product": (_source, { id }: IdArguments, { catalog, readsAtMs }) =>
    catalog.findProduct(readId(id, "Product"), readsAtMs),
  "QueryRoot.productByIdentifier": (_source, { identifier }: IdentifierArguments, { catalog, readsAtMs }) =>
    catalog.findByHandle(identifier.handle, readsAtMs),
  "QueryRoot.productVariant": (_source, { id }: IdArguments, { catalog, readsAtMs }) =>
    catalog.findVariant(readId(id, "ProductVariant"), readsAtMs)?.variant,
  "QueryRoot.products": listProducts,
  "QueryRoot.productsCount": countProducts,
  "QueryRoot.events": (_source, args: DeletionArguments, { catalog }) =>
    listDeletions(catalog.deletions.list(args.query, "BasicEvent"), args),
  "QueryRoot.deletionEvents": (_source, args: DeletionArguments, { catalog }) =>
    listDeletions(catalog.deletions.list(args.query, "DeletionEvent"), args),
  "QueryRoot.bulkOperation": findBulk,
  "Mutation.bulkOperationRunQuery": startBulk,
  "Mutation.bulkOperationCancel": cancelBulk,
  "QueryRoot.webhookSubscriptions": listSubscriptions,
  "Mutation.webhookSubscriptionCreate": createSubscription,
  "Mutation.webhookSubscriptionUpdate": updateSubscription,
  "Mutation.webhookSubscriptionDelete": deleteSubscription,

  "Product.images": (product: ProductRecord, args: PageArguments) => pageOf(product.images, args),
  "Product.media": (product: ProductRecord, args: PageArguments & { readonly query?: string | null }) =>
    pageOf(filterMedia(product.media, args.query), args),
  "Product.metafields": listMetafields,
  "Product.variants": listVariants,
  "Product.resourcePublications": (product: ProductRecord, args: PageArguments & { readonly onlyPublished: boolean }) =>
    pageOf(fromArray(listPublications(product, args.onlyPublished)), args),
  "Product.publishedOnPublication": (product: ProductRecord, args: { readonly publicationId: string }) =>
    isPublishedOn(product, args.publicationId),
  "ProductVariant.metafields": listMetafields,
  "ProductVariant.media": (variant: VariantRecord, args: PageArguments) => pageOf(variant.media, args),
  "ProductVariant.product": (variant: VariantRecord, _args, { catalog }) =>
    catalog.findVariant(variant.legacyResourceId)?.product,
};

interface ProductsArguments extends PageArguments {
  readonly query?: string | null;
  readonly reverse: boolean;
  readonly sortKey: string;
}

function listProducts(
  _source: unknown,
  args: ProductsArguments,
  { catalog, listsAtMs }: RequestContext,
): Page<ProductRecord> {
  const sortKey = (["ID", "UPDATED_AT"] as const).find((key) => key === args.sortKey);
  if (sortKey === undefined)
    throw badArgument(`The stand-in does not sort products by ${args.sortKey}`, "STAND_IN_LIMIT");
  return toPage(catalog.list(parseSearch(args.query), sortKey, args.reverse, listsAtMs), args, pagingEnd);
}

interface DeletionArguments extends PageArguments {
  readonly query?: string | null;
  readonly sortKey: string;
}

function listDeletions(list: OrderedList<DeletionRecord>, args: DeletionArguments): Page<DeletionRecord> {
  if (args.sortKey !== "CREATED_AT") throw badArgument("The stand-in lists deletions by CREATED_AT", "STAND_IN_LIMIT");
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

function listVariants(product: ProductRecord, args: PageArguments, { counters }: RequestContext): Page<VariantRecord> {
  // A request for the first page of variants counts as a read of the product.
  if (args.after == null) increase(counters.productReads, product.legacyResourceId);
  return pageOf(product.variants, args);
}

interface MetafieldArguments extends PageArguments {
  readonly namespace?: string | null;
}

function listMetafields(
  { metafields }: { readonly metafields: LazyList<MetafieldRecord> },
  { namespace, ...args }: MetafieldArguments,
): Page<MetafieldRecord> {
  if (namespace == null) return pageOf(metafields, args);
  return pageOf(fromArray(toArray(metafields).filter((metafield) => metafield.namespace === namespace)), args);
}
