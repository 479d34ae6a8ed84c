import { parseCachePolicy } from "../cache/policy.ts";
import { visibilities } from "../catalog/visibility.ts";
import { type CdnName, cdns } from "../cdn/headers.ts";
import {
  anyText,
  apiVersion,
  bits,
  brand,
  connections,
  count,
  databaseUrl,
  domain,
  header,
  host,
  hosts,
  httpUrl,
  locale,
  namespaces,
  networks,
  oneOf,
  port,
  postgresUrl,
  publication,
  runs,
  seconds,
  secondsBetween,
  token,
} from "./values.ts";

/** A scalar setting. */
interface Setting<T> {
  readonly default: string;
  /** Throws an Error that says which values are valid. */
  readonly parse: (text: string) => T;
  /** The description in the documentation. */
  readonly sentence: string;
  /**
   * How output hides the value. `secret`: prints only whether it is set. `credentials`: omits it
   * from error messages, because a malformed URL cannot be redacted reliably. Credentials in URLs
   * are hidden everywhere.
   */
  readonly hide?: "secret" | "credentials";
}

/** Infers the type of a setting's value. */
const setting = <T>(definition: Setting<T>): Setting<T> => definition;

const defaultCachePolicy = "max-age=60, s-maxage=300, stale-while-revalidate=600, stale-if-error=86400";

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/**
 * Every scalar setting, defined once: `adminHost` is `admin_host` in the file and `ADMIN_HOST` in
 * the environment. `npm run document` writes this table into `docs/reference/settings.md`.
 */
export const settings = {
  host: setting({ default: "127.0.0.1", parse: host, sentence: "Address that the public listener binds to." }),
  port: setting({ default: "3000", parse: port, sentence: "Port of the public listener; 0 picks a free port." }),
  publicUrl: setting({
    default: "",
    parse: (text) => httpUrl(text).replace(/\/+$/, ""),
    sentence:
      "URL at which others reach the public listener, such as `https://products.example.com`. Links and printed addresses begin with it. `pds platform subscribe` needs it, and so do the probes after a purge.",
  }),
  adminHost: setting({
    default: "127.0.0.1",
    parse: host,
    sentence:
      "Address that the admin listener binds to. Any address but loopback requires `ADMIN_TOKEN` or a token in `[admin.tokens]`.",
  }),
  adminPort: setting({ default: "3001", parse: port, sentence: "Port of the admin listener; 0 picks a free port." }),
  adminHosts: setting({
    default: "",
    parse: hosts,
    sentence:
      "Host names, separated by commas, that requests to the admin listener may have, such as `pds.internal.example`. `ADMIN_HOST` and names of loopback are always accepted, and every IP address if `ADMIN_HOST` is `0.0.0.0` or `::`.",
  }),
  adminToken: setting({
    default: "",
    parse: token,
    sentence:
      "A token for the admin listener with the role `operate`. Programs send it as a bearer token; people sign in with it. As the password of basic authentication it only reads. With neither this nor `[admin.tokens]`, the listener needs no token and is read-only.",
    hide: "secret",
  }),
  databaseUrl: setting({
    default: "sqlite:data/pds.sqlite",
    parse: databaseUrl,
    sentence: "The store: `sqlite:PATH` (embedded) or `postgres://…` (shared by several replicas).",
    hide: "credentials",
  }),
  databaseDirectUrl: setting({
    default: "",
    parse: (text) => (text === "" ? text : postgresUrl(text)),
    sentence:
      "The same store without a connection pooler, when `DATABASE_URL` leads to one such as PgBouncer. Jobs and all writes use it.",
    hide: "credentials",
  }),
  databasePrepare: setting({
    default: "on",
    parse: oneOf("on", "off"),
    sentence:
      "`off`: connections through a connection pooler prepare no statements. PgBouncer before 1.21, and any without `max_prepared_statements`, needs this.",
  }),
  databaseConnections: setting({
    default: "4",
    parse: connections,
    sentence: "Connections to PostgreSQL of a process that serves, 4 to 100. Each job has four of its own.",
  }),
  shopDomain: setting({ default: "localhost", parse: domain, sentence: "Domain of the shop, `shop` in responses." }),
  brand: setting({
    default: "default",
    parse: brand,
    sentence: "Brand that jobs run for, and whose personalization takes precedence.",
  }),
  defaultLocale: setting({
    default: "en",
    parse: locale,
    sentence: "Locale of forms for requests in a locale that the presentation does not have, such as `en` or `pt-BR`.",
  }),
  shopifyAccessToken: setting({
    default: "",
    parse: header,
    sentence: "Access token of the shop's app (`shpat_…`).",
    hide: "secret",
  }),
  shopifyClientId: setting({
    default: "",
    parse: anyText,
    sentence: "Client ID of the shop's app, for the client credentials grant instead of an access token.",
  }),
  shopifyClientSecret: setting({
    default: "",
    parse: anyText,
    sentence: "Client secret for the client ID.",
    hide: "secret",
  }),
  shopifyWebhookSecret: setting({
    default: "",
    parse: anyText,
    sentence:
      "Client secret of the shop's app, which signs webhook deliveries. With it, the public listener accepts them at `/webhooks/shopify`.",
    hide: "secret",
  }),
  shopifyWebhookSecretPrevious: setting({
    default: "",
    parse: anyText,
    sentence: "The client secret before its rotation; deliveries that it signed are accepted too.",
    hide: "secret",
  }),
  shopifyApiUrl: setting({
    default: "",
    parse: httpUrl,
    sentence: "URL of the platform's API, if it is not `https://SHOP_DOMAIN`; for example the stand-in's.",
    hide: "credentials",
  }),
  shopifyApiVersion: setting({
    default: "2026-10",
    parse: apiVersion,
    sentence:
      "Version of Shopify's Admin API. Each works for a year. Optional fields that a later version no longer has keep their last stored values.",
  }),
  feedAuthorization: setting({
    default: "",
    parse: header,
    sentence: "`Authorization` header for a feed at an `https://` URL, such as `Bearer …`.",
    hide: "secret",
  }),
  maxFileMegabytes: setting({
    default: "10000",
    parse: count,
    sentence:
      "Maximum size in megabytes of one file that a job reads, as stored and decompressed: of a feed, of products, or a bulk result of the platform. 0 disables the limit.",
  }),
  allowedLinkLocal: setting({
    default: "",
    parse: networks,
    sentence:
      "Link-local and metadata addresses or networks that this service may send requests to, separated by commas, such as `169.254.10.0/24`. It refuses all others of this kind: `169.254.0.0/16`, `fe80::/10`, and those at which clouds give out credentials.",
  }),
  s3Endpoint: setting({
    default: "",
    parse: httpUrl,
    sentence: "Endpoint of an S3-compatible store other than Amazon's, for a feed at an `s3://` URL.",
    hide: "credentials",
  }),
  s3Region: setting({ default: "us-east-1", parse: anyText, sentence: "Region of the S3 store." }),
  s3AccessKeyId: setting({ default: "", parse: anyText, sentence: "Access key ID for the S3 store.", hide: "secret" }),
  s3SecretAccessKey: setting({
    default: "",
    parse: anyText,
    sentence: "Secret access key for the S3 store.",
    hide: "secret",
  }),
  productMaxAge: setting({
    default: "86400",
    parse: seconds,
    sentence:
      "Maximum age of a stored product in seconds. An older one is refreshed from the platform in the background while the old copy is served.",
  }),
  lookupsPerMinute: setting({
    default: "60",
    parse: count,
    sentence:
      "Maximum number of products per minute and process that are looked up at the platform to answer requests.",
  }),
  visible: setting({
    default: "active",
    parse: oneOf(...visibilities),
    sentence:
      "Products to serve. `active`: only products that are active or unlisted, and published to `PUBLICATION`; the others return 404. `all`: drafts, archived, and unpublished products too.",
  }),
  publication: setting({
    default: "",
    parse: publication,
    sentence:
      "ID of the publication (sales channel) whose products are visible; by default the online store. Another one requires the scope `read_publications`. A change takes effect with the next `catalog-reconcile`.",
  }),
  metafieldNamespaces: setting({
    default: "",
    parse: namespaces,
    sentence:
      "Namespaces of the metafields to read, separated by commas; by default all. A change takes effect with the next `catalog-reconcile`.",
  }),
  scheduler: setting({
    default: "on",
    parse: oneOf("on", "off"),
    sentence:
      "`off`: this process runs no jobs. Other replicas run them, or an external scheduler does with `pds run JOB`.",
  }),
  maxRuns: setting({
    default: "4",
    parse: runs,
    sentence:
      "Maximum number of concurrent runs per process, 1 to 100. Further runs wait their turn, whether scheduled or started in the console. Each run takes up to four connections to PostgreSQL, and memory for its import.",
  }),
  leaseSeconds: setting({
    default: "30",
    parse: secondsBetween(1, 3600),
    sentence:
      "Seconds without a heartbeat after which a run is recorded as abandoned and the next run can start; 1 to 3600.",
  }),
  staleData: setting({
    default: "warn",
    parse: oneOf("warn", "fail"),
    sentence:
      "What `/readyz` reports when data is stale: a job has not succeeded for too long, or a new store has no data yet. `warn`: 200 `degraded`. `fail`: 503, so that load balancers send no requests here.",
  }),
  readiness: setting({
    default: "available",
    parse: oneOf("available", "strict"),
    sentence:
      "What `/readyz` reports while the store is unreachable. `available`: 200 `degraded` if this process has cached responses to serve, else 503. `strict`: 503, for load balancers that do not retry a 503 elsewhere.",
  }),
  memoryMegabytes: setting({
    default: "128",
    parse: count,
    sentence: "Size of the response cache in megabytes; 0 disables it.",
  }),
  cachePersonalization: setting({
    default: defaultCachePolicy,
    parse: parseCachePolicy,
    sentence: "How long browsers (`max-age`) and shared caches (`s-maxage`) may keep personalization; or `no-store`.",
  }),
  cacheProducts: setting({
    default: defaultCachePolicy,
    parse: parseCachePolicy,
    sentence: "How long caches may keep a product response.",
  }),
  cacheHistories: setting({
    default: "max-age=5, s-maxage=5, stale-if-error=86400",
    parse: parseCachePolicy,
    sentence: "How long caches may keep a history response.",
  }),
  cacheNotFound: setting({
    default: "max-age=10, s-maxage=10",
    parse: parseCachePolicy,
    sentence: "How long caches may keep a 404 or 400 response, and the personalization of an unknown SKU.",
  }),
  cdn: setting({
    default: "none",
    parse: oneOf(...(Object.keys(cdns) as CdnName[])),
    sentence:
      "CDN in front of the service: `cloudflare`, `fastly`, `varnish`, `generic` (any other), or `none`. Responses have the headers by which it caches and purges them.",
  }),
  purgeToken: setting({ default: "", parse: header, sentence: "Token for the table `[purge]`.", hide: "secret" }),
  rateLimit: setting({
    default: "0",
    parse: count,
    sentence:
      "Maximum number of requests per network of clients and minute, counted per process; further requests get 429. 0 disables the limit.",
  }),
  clientPrefixIpv4: setting({
    default: "32",
    parse: bits(32),
    sentence:
      "Clients whose IPv4 addresses begin with the same bits, this many, count as one network: for the limit, the share of lookups, and the queues.",
  }),
  clientPrefixIpv6: setting({
    default: "64",
    parse: bits(128),
    sentence: "The same for IPv6, where one client usually has 64 bits for itself.",
  }),
  trustedProxies: setting({
    default: "",
    parse: networks,
    sentence:
      "IP addresses or networks of proxies, separated by commas. Only their `X-Forwarded-For` identifies the client.",
  }),
  reusePort: setting({
    default: "off",
    parse: oneOf("on", "off"),
    sentence:
      "`on`: another process may listen on the same ports, so that a new version can take over from an old one.",
  }),
  drainSeconds: setting({
    default: "1",
    parse: secondsBetween(0, 3600),
    sentence:
      "Seconds that the service keeps answering after `SIGTERM`; 0 to 3600. In this time `/readyz` fails and every response closes its connection.",
  }),
  idleSeconds: setting({
    default: "75",
    parse: secondsBetween(0, 255),
    sentence:
      "Idle timeout of a connection in seconds, 1 to 255; 0 disables it. Set it higher than that of a proxy in front.",
  }),
  serverTiming: setting({
    default: "off",
    parse: oneOf("on", "off"),
    sentence:
      "`on`: every response reports its duration in `Server-Timing`, and whether it comes from the cache in `Cache-Status`.",
  }),
  logLevel: setting({
    default: "info",
    parse: oneOf(...logLevels),
    sentence: `Minimum level of the lines in the log: ${logLevels.join(", ")}.`,
  }),
};

export type SettingName = keyof typeof settings;

/** The parsed value of every setting. */
export type SettingValues = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]["parse"]> };

export const settingNames = Object.keys(settings) as SettingName[];

/** Returns a setting's name in the file. */
export const fileKey = (name: string) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** Returns a setting's name in the environment. */
export const environmentName = (name: string) => fileKey(name).toUpperCase();
