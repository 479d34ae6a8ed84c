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
 * A read-only operation of the public API, from which router, cache, purge tags, metrics, OpenAPI
 * document, and reference page are built.
 */
export interface Operation {
  readonly name: string;
  /** Recorded changes of this noun invalidate the responses. By default, the name. */
  readonly noun?: Change["noun"];
  /** Whether it is one of the contract's three operations; the others are additions. */
  readonly isCore?: boolean;
  readonly routes: readonly OperationRoute[];
  /** Selects the setting that controls how long clients and shared caches keep responses. */
  readonly cachePolicy: (settings: OperationSettings) => CachePolicy;
  /** How long this service keeps responses; see `invalidatedLifetime` and `polledLifetime`. */
  readonly lifetime: (policy: CachePolicy, settings: OperationSettings) => CacheLifetime;
  /**
   * Returns the cache key. Runs for every request, so it must be cheap.
   * @throws ServiceError when a parameter is invalid
   */
  readonly parseKey: (request: BunRequest<string>) => string;
  /** Keys for purge tags; by default, the response's own key. */
  readonly tagKeys?: (key: string) => readonly string[];
  /**
   * If set, this operation returns the other operation's responses, and its loader only finds their
   * keys.
   */
  readonly responsesOf?: Operation;
  /**
   * Creates the function that loads the response for a key; undefined means 404. `network` returns
   * the client's network, so that limits and queues are fair to networks.
   */
  readonly createLoader: (
    context: OperationContext,
  ) => (key: string, network?: () => string) => MaybePromise<OperationResult | Reference | Redirection | undefined>;
  /** By default, failures are problem documents. */
  readonly createFailureResponse?: (context: OperationContext) => FailureResponse;
}

export interface OperationSettings {
  readonly shopDomain: string;
  readonly productMaxAge: number;
  readonly cachePersonalization: CachePolicy;
  readonly cacheProducts: CachePolicy;
  readonly cacheHistories: CachePolicy;
  readonly cacheNotFound: CachePolicy;
  readonly cdn: CdnName;
  /** Undefined if the service does not purge the CDN. */
  readonly purge: { readonly max_age: number } | undefined;
}

export interface OperationContext extends ProductFinder {
  readonly settings: OperationSettings;
  /**
   * Runs a query within the store's concurrency limit.
   * @param network returns the client's network
   */
  readonly query: <T>(run: (database: Database) => MaybePromise<T>, network?: () => string) => MaybePromise<T>;
  readonly networkOf: (origin: RequestOrigin) => string;
  readonly personalization: PersonalizationReader;
}

export interface Reference {
  /** Key of the other operation's response. */
  readonly referred: string;
  /** The alias that led to it. */
  readonly alias: string;
}

export interface Redirection {
  readonly location: string;
  readonly fingerprints: readonly number[];
}

export interface OperationResult {
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Without quotes; changes with the body. */
  readonly tag: string;
  /** Another name of the object, by which a different operation refers to the response. */
  readonly alias?: string;
  /** Whether the response has no data, such as for an unknown SKU. */
  readonly isEmpty?: boolean;
  /** Fingerprints of the response's data, if changes are recorded by fingerprint. */
  readonly fingerprints?: readonly number[];
}

export interface OperationRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: Readonly<Record<string, ParameterDocumentation>>;
  /** By status. 304, 412, 429, and 503 are documented by default. */
  readonly responses: Readonly<Record<number, ResponseDocumentation>>;
}

export interface ParameterDocumentation {
  /** By default `path`. Query parameters may be repeated. */
  readonly in?: "query";
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** A value that exists for the sample brand. */
  readonly example: unknown;
}

export interface ResponseDocumentation {
  readonly description: string;
  /** By default, a problem document. */
  readonly schemas?: readonly SchemaName[];
}
