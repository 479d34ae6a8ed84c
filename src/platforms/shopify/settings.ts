/** Texts are empty unless they are set. */
export interface ShopifySettings {
  readonly shopDomain: string;
  readonly shopifyAccessToken: string;
  readonly shopifyClientId: string;
  readonly shopifyClientSecret: string;
  readonly shopifyWebhookSecret: string;
  readonly shopifyWebhookSecretPrevious: string;
  readonly shopifyApiUrl: string;
  readonly shopifyApiVersion: string;
  /** A global identifier; empty for the online store. */
  readonly publication: string;
  /** Empty for all. */
  readonly metafieldNamespaces: readonly string[];
  /** Maximum size of a bulk result; 0 for no limit. */
  readonly maxFileMegabytes: number;
  readonly allowedLinkLocal: readonly string[];
}
