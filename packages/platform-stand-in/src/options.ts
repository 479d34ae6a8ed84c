import type { BulkSettings } from "./bulk/runs.ts";
import type { Range } from "./catalog/random.ts";
import { type SpecialName, specialNames } from "./catalog/specials.ts";
import type { Fault } from "./faults.ts";
import type { ShopDetails } from "./graphql/context.ts";
import { defaultScopes } from "./graphql/scopes.ts";
import type { LagSettings } from "./lag.ts";
import { type BucketSettings, standardPlan } from "./throttle.ts";
import type { DeliverySettings } from "./webhooks/deliveries.ts";

/** An app has a permanent token, client credentials for short-lived tokens, or both. */
export interface AppOptions {
  readonly name: string;
  readonly token?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scopes?: readonly string[];
}

export interface StandInOptions {
  /** 0 picks a free port. */
  readonly port?: number;
  readonly hostname?: string;
  /** Seed of the catalog and of all random decisions. */
  readonly seed?: number;
  /** Number of ordinary products; special ones are added to them. */
  readonly products?: number;
  readonly variants?: Range;
  readonly images?: Range;
  readonly metafields?: Range;
  readonly variantMetafields?: Range;
  readonly specials?: "all" | readonly SpecialName[];
  readonly shop?: Partial<ShopDetails>;
  readonly apps?: readonly AppOptions[];
  readonly bucket?: Partial<BucketSettings>;
  /** Lifetime of a token from client credentials, in seconds. */
  readonly expiresIn?: number;
  readonly bulk?: Partial<BulkSettings>;
  readonly webhooks?: Partial<DeliverySettings>;
  /** Delay of every GraphQL response. */
  readonly latencyMs?: number;
  /** Whether edits of one product within a second have the same `updatedAt`, as on the platform. */
  readonly sharesSeconds?: boolean;
  readonly lag?: LagSettings;
  /** Oldest first; a request for an older version is served by the first. */
  readonly versions?: readonly string[];
  readonly faults?: readonly Fault[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export type StandInSettings = Required<Omit<StandInOptions, "shop" | "bucket" | "bulk" | "specials" | "webhooks">> & {
  readonly shop: ShopDetails;
  readonly bucket: BucketSettings;
  readonly bulk: BulkSettings;
  readonly webhooks: DeliverySettings;
  readonly specials: readonly SpecialName[];
};

export const defaultApp = {
  name: "default",
  token: "shpat_stand-in",
  clientId: "stand-in-client",
  clientSecret: "stand-in-secret",
  scopes: defaultScopes,
} as const satisfies AppOptions;

const defaultShop: ShopDetails = {
  id: "gid://shopify/Shop/53320891",
  name: "Stand-in Tableware",
  myshopifyDomain: "stand-in.myshopify.com",
  ianaTimezone: "America/New_York",
  primaryDomain: { host: "www.stand-in.example" },
  weightUnit: "POUNDS",
};

export function withDefaults(options: StandInOptions): StandInSettings {
  return {
    port: 0,
    hostname: "127.0.0.1",
    seed: 1,
    products: 100,
    variants: [1, 8],
    images: [0, 6],
    metafields: [4, 16],
    variantMetafields: [2, 5],
    apps: [defaultApp],
    expiresIn: 86_399,
    latencyMs: 0,
    sharesSeconds: false,
    lag: { lagMs: 0, probability: 0 },
    versions: ["2026-01", "2026-04", "2026-07", "2026-10"],
    faults: [],
    now: Date.now,
    ...options,
    specials: options.specials === "all" ? specialNames : (options.specials ?? []),
    shop: { ...defaultShop, ...options.shop },
    bucket: { ...standardPlan, ...options.bucket },
    bulk: { createdMs: 50, runningMs: 200, cancelingMs: 50, order: "shuffled", ...options.bulk },
    webhooks: { speedUp: 1, delayMs: 0, duplicates: 0, ...options.webhooks },
  };
}
