import type { BunRequest } from "bun";
import type { MaybePromise } from "../base/maybe-promise.ts";
import type { CacheLifetime } from "../cache/namespace.ts";
import type { CachePolicy } from "../cache/policy.ts";
import type { ProductFinder } from "../catalog/product-finder.ts";
import type { CdnName } from "../cdn/headers.ts";
import type { SchemaName } from "../contract/index.ts";
import type { Change } from "../database/change.ts";
import type { Database } from "../database/database.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { FailureResponse } from "../http/endpoint.ts";
import type { PersonalizationReader } from "../personalization/reader.ts";

/**
 * A read-only operation of the public API. The router, cache, purge tags, metrics, OpenAPI
 * document, and reference page are built from it.
 */
export interface Operation {
  /** Cache namespace. */
  readonly name: string;
  /** What its responses are made from: recorded changes of this noun invalidate them. By default, the name. */
  readonly noun?: Change["noun"];
  /** Whether it is one of the contract's three; others are additions. */
  readonly isCore?: boolean;
  readonly routes: readonly OperationRoute[];
  /** Selects the setting that controls how long clients and shared caches keep responses. */
  readonly cachePolicy: (settings: OperationSettings) => CachePolicy;
  /** How long this service keeps responses; by `invalidatedLifetime` or `polledLifetime`. */
  readonly lifetime: (policy: CachePolicy, settings: OperationSettings) => CacheLifetime;
  /**
   * The request's cache key. Runs for every request, so it must be cheap.
   * @throws ServiceError when a parameter is invalid
   */
  readonly parseKey: (request: BunRequest<string>) => string;
  /** The keys in purge tags; by default, the response's own key. */
  readonly tagKeys?: (key: string) => readonly string[];
  /** The operation whose responses this one returns: its loader only finds their keys. */
  readonly responsesOf?: Operation;
  /**
   * Creates the function that loads the response for a key; undefined means 404. `network` returns
   * the network of the client, for limits and queues that are fair to networks.
   */
  readonly createLoader: (
    context: OperationContext,
  ) => (key: string, network?: () => string) => MaybePromise<OperationResult | Reference | Redirection | undefined>;
  /** By default failures are problem documents. */
  readonly createFailureResponse?: (context: OperationContext) => FailureResponse;
}

/** The settings that responses depend on. */
export interface OperationSettings {
  /** Domain of the shop. */
  readonly shopDomain: string;
  /** Maximum age of a stored product in seconds. */
  readonly productMaxAge: number;
  readonly cachePersonalization: CachePolicy;
  readonly cacheProducts: CachePolicy;
  readonly cacheHistories: CachePolicy;
  readonly cacheNotFound: CachePolicy;
  readonly cdn: CdnName;
  /** Undefined if the service does not purge the CDN. */
  readonly purge: { readonly max_age: number } | undefined;
}

/** Dependencies of the operations. */
export interface OperationContext extends ProductFinder {
  readonly settings: OperationSettings;
  /** Runs a query within the store's concurrency limit. @param network as of a loader */
  readonly query: <T>(run: (database: Database) => MaybePromise<T>, network?: () => string) => MaybePromise<T>;
  /** The network of the client that sent a request. */
  readonly networkOf: (origin: RequestOrigin) => string;
  readonly personalization: PersonalizationReader;
}

/** The response of another operation. */
export interface Reference {
  /** Its key there. */
  readonly referred: string;
  /** The alias of that response, by which it was found. */
  readonly alias: string;
}

/** A response with status 302. */
export interface Redirection {
  /** URL, relative to that of the request. */
  readonly location: string;
  readonly fingerprints: readonly number[];
}

export interface OperationResult {
  /** JSON. */
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Entity tag without quotes; changes with the body. */
  readonly tag: string;
  /** A name of the object besides the key, by which another operation refers to the response. */
  readonly alias?: string;
  /** Whether the response holds no data, such as for an unknown SKU. */
  readonly isEmpty?: boolean;
  /**
   * Fingerprints of the data in the response, if recorded changes are identified by fingerprints.
   */
  readonly fingerprints?: readonly number[];
}

/** A route with its documentation. */
export interface OperationRoute {
  /** Such as `/api/v1/products/:id`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Parameters by name. */
  readonly parameters?: Readonly<Record<string, ParameterDocumentation>>;
  /** Responses by status. 304, 412, 429, and 503 are documented by default. */
  readonly responses: Readonly<Record<number, ResponseDocumentation>>;
}

export interface ParameterDocumentation {
  /** By default `path`. Those of the query may be repeated. */
  readonly in?: "query";
  readonly description: string;
  /** JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** A value that the sample brand has. */
  readonly example: unknown;
}

export interface ResponseDocumentation {
  readonly description: string;
  /** Possible bodies; by default a problem document. */
  readonly schemas?: readonly SchemaName[];
}
