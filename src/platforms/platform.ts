import { ServiceError } from "../base/errors.ts";
import type { Image, Product } from "../contract/product.ts";
import type { Id } from "../contract/product-values.ts";

/**
 * One shop on a commerce platform. The catalog knows a platform only through this interface, and
 * every implementation passes `test/platforms/conformance.ts`. Its methods throw PlatformError when
 * the platform does not answer, and the signal's reason or an AbortError when they are aborted.
 */
export interface Platform {
  /** Address of the shop for people, without credentials. */
  readonly source: string;
  /** The settings that select the shop, for error messages: "SHOP_DOMAIN and the access token". */
  readonly settings: string;
  /** Pause before an unsettled product is read again. It doubles each time; three must be enough. */
  readonly rereadMs: number;

  readShop(signal: AbortSignal): Promise<Shop>;

  /**
   * Checks that the shop answers and that its products may be read. Throws the first failure, without
   * retries unless the platform is only busy.
   */
  check(signal: AbortSignal): Promise<Shop>;

  /**
   * Lists products by their last change, oldest first, in pages.
   * @param sinceMs an instant by the platform's clock; undefined lists every product
   */
  listProducts(sinceMs: number | undefined, signal: AbortSignal): AsyncIterable<readonly ListedProduct[]>;

  /**
   * Cheaper than reading each product.
   * @param shop the result of a `readShop` just before, which dates the snapshot
   * @throws BulkReadError when the products must be read one by one instead
   */
  readCatalog(shop: Shop, signal: AbortSignal): Promise<CatalogSnapshot>;

  /**
   * Reads all products in the order of their ids, in pages.
   * @param after the id after which to continue; undefined reads from the first product
   */
  readPages(after: bigint | undefined, signal: AbortSignal): AsyncIterable<CatalogPage>;

  /**
   * @throws ChangingProductError when it takes several responses that do not agree;
   *   UnusableProductError when the product cannot be converted to the contract's shape
   */
  readProduct(id: bigint, options: ReadOptions): Promise<ProductReading>;

  /** Finds the product that has a handle now; undefined when none has. */
  findProductId(handle: string, options: ReadOptions): Promise<bigint | undefined>;

  /** Counts the products of the shop; fewer than there are when the platform does not know. */
  countProducts(signal: AbortSignal): Promise<number>;

  /**
   * Lists products that were deleted, oldest first, in pages.
   * @param sinceMs an instant by the platform's clock
   */
  listDeletions(sinceMs: number, signal: AbortSignal): AsyncIterable<readonly DeletedProduct[]>;

  /** Absent until the settings have the secret that signs deliveries. */
  readonly receiver?: DeliveryReceiver | undefined;
  /** Absent if the platform cannot notify of changes. */
  readonly subscriptions?: Subscriptions;
}

export interface DeliveryReceiver {
  /** Path of the address on the public listener. */
  readonly path: string;
  readonly topics: readonly string[];
  /** Undefined for an unknown topic. */
  topicOf(headers: Headers): string | undefined;
  /** @throws ServiceError `bad_signature`; `misdirected` for another shop; or `bad_request` */
  receive(headers: Headers, body: Uint8Array): Delivery;
}

/** News from a platform. A delivery may be late, repeated, or older than the one before. */
export type Delivery =
  /** `updatedAt` as in {@link ListedProduct}, if the delivery names it. */
  | { readonly kind: "product"; readonly id: bigint; readonly updatedAt?: string }
  /** The app was removed, with its access and its subscriptions. */
  | { readonly kind: "uninstalled" }
  | { readonly kind: "unknown" };

export interface Subscription {
  readonly id: string;
  readonly topic: string;
  readonly address: string;
}

export interface Subscriptions {
  readonly topics: readonly string[];
  /** Path of the address on the public listener. */
  readonly path: string;
  /** Lists the subscriptions of this app in this shop, to any address and any topic. */
  list(signal: AbortSignal): Promise<Subscription[]>;
  /**
   * Subscribes an address to all topics, unless it is already.
   * @throws ServiceError `invalid_setting` while deliveries would be refused, `bad_request` when the
   *   platform refuses the address
   */
  subscribe(address: string, signal: AbortSignal): Promise<void>;
  unsubscribe(subscription: Subscription, signal: AbortSignal): Promise<void>;
}

export interface Shop {
  /** Stays the same when the shop's domain changes. */
  readonly id: string;
  /** IANA name, such as `America/New_York`. */
  readonly timeZone: string;
  /** In the platform's spelling; for variants without a weight. */
  readonly weightUnit: string;
  /** When the shop was read, by the platform's clock: milliseconds since 1970. */
  readonly readAtMs: number;
}

export interface ListedProduct {
  readonly id: bigint;
  readonly updatedAt: string;
}

export interface DeletedProduct {
  readonly id: bigint;
  /** ISO 8601 in UTC, in the precision of `updatedAt`. */
  readonly deletedAt: string;
}

export interface PlatformProduct {
  readonly product: Product;
  /** Time of the last change: ISO 8601 in UTC, to one precision, so that text order is time order. */
  readonly updatedAt: string;
  /** False for a read too soon after `updatedAt`: reads may lag, and a second may have two changes. */
  readonly isSettled: boolean;
  /** Fields that the platform refused; their last stored values are kept. */
  readonly kept?: readonly KeptFields[];
  /** In order; the stored images identify them. */
  readonly unnamedImages?: readonly UnnamedImage[];
}

export interface UnnamedImage {
  /** For reports. */
  readonly name: string;
  /** Absent if only a variant has the image. */
  readonly image?: Omit<Image, "id" | "admin_graphql_api_id">;
  /** The identifier of its medium, for an image that is not stored. */
  readonly ofMedium?: Pick<Image, "id" | "admin_graphql_api_id"> | undefined;
}

export interface KeptFields {
  readonly of: "product" | "image" | "variant" | "metafield";
  readonly fields: readonly string[];
}

/** A product that cannot be converted to the contract's shape. */
export interface UnusableProduct {
  readonly id: bigint;
  readonly unusable: string;
}

export interface ProductReading {
  readonly shopId: string;
  /** When the first request was sent, by the platform's clock: milliseconds since 1970. */
  readonly readAtMs: number;
  /** When the attempt that succeeded began, as `performance.now()`. */
  readonly beganMs: number;
  /** Whether it took several responses, which may show different states. */
  readonly isPaged: boolean;
  readonly found: PlatformProduct | undefined;
}

/** Products with consecutive ids. */
export interface CatalogPage {
  readonly shopId: string;
  /** When the request was sent, by the platform's clock: milliseconds since 1970. */
  readonly readAtMs: number;
  readonly products: readonly (PlatformProduct | UnusableProduct)[];
  /** Products that do not fit on a page and must be read one by one. */
  readonly unread: readonly bigint[];
  readonly lastId: bigint;
}

/** The whole catalog at one time. Disposing of it frees its disk space. */
export interface CatalogSnapshot extends AsyncDisposable {
  /** Every product, known before the first one is read. */
  readonly ids: ReadonlySet<Id>;
  /** A product that changed since this instant, by the platform's clock, may be missing or unsettled. */
  readonly unsettledSinceMs: number;
  /** When its last part was read, by the platform's clock. */
  readonly endedAtMs: number;
  /** Every product of `ids`, once, in batches. A batch can be iterated once. */
  readProducts(): AsyncIterable<Iterable<PlatformProduct | UnusableProduct>>;
}

/** Most urgent first: for a shopper, a notification, a job, in the background. Later ones yield. */
export type Priority = "live" | "push" | "sync" | "refresh";

/** A budget for requests that all processes of a shop share. */
export interface SharedPoints {
  /**
   * Takes points, unless fewer than `floor` would be left.
   * @returns 0, or how many milliseconds to wait before trying again
   */
  take(cost: number, floor: number): Promise<number>;
  /**
   * @param refund points that the request did not spend
   * @param reported undefined if the response did not report the budget
   */
  settle(refund: number, reported: PointsReport | undefined): Promise<void>;
}

/** State of the budget, a leaky bucket, as the platform reports it. */
export interface PointsReport {
  readonly maximumAvailable: number;
  readonly currentlyAvailable: number;
  /** Points per second. */
  readonly restoreRate: number;
}

export interface ReadOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

export class PlatformError extends ServiceError {
  /** Whether other reads would fail, too. */
  readonly isGeneral: boolean;

  constructor(
    message: string,
    { isGeneral = false, ...options }: ErrorOptions & { readonly isGeneral?: boolean } = {},
  ) {
    super("unavailable", message, options);
    this.isGeneral = isGeneral;
  }
}

/** Several responses about a product may show different states. */
export class ChangingProductError extends PlatformError {
  readonly updatedAt: string;

  constructor(message: string, updatedAt: string) {
    super(message);
    this.updatedAt = updatedAt;
  }
}

/** One product cannot be converted to the contract's shape; the others can be read. */
export class UnusableProductError extends PlatformError {}

/** The products can still be read one by one. */
export class BulkReadError extends Error {}

/** How long a platform's reads and lists of products may lag behind its changes. */
export const lagMs = 10_000;
