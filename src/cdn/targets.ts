import { hideCredentials } from "../base/credentials.ts";
import type { PurgeOptions, PurgeOptionsOf } from "./options.ts";

/** A token bucket. */
export interface PurgeBudget {
  readonly unit: "request" | "tag";
  readonly burst: number;
  readonly perSecond: number;
}

export interface PurgeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A provider's cache, or a single server. Each is purged independently. */
export interface PurgeTarget {
  /** Without credentials; identifies the cache in the store and in messages. */
  readonly name: string;
  readonly maxTags: number;
  /** Total size of a request's tags, including a separator after each. */
  readonly maxBytes: number;
  /** Undefined for no limit. */
  readonly budget: PurgeBudget | undefined;
  readonly toRequest: (tags: readonly string[]) => PurgeRequest;
  /** Finds a problem that a response with status 2xx reports. */
  readonly findProblem?: (body: string) => string | undefined;
}

export function createTargets(options: PurgeOptions, token: string): PurgeTarget[] {
  switch (options.cdn) {
    case "fastly":
      return [fastly(options, token)];
    case "cloudflare":
      return [cloudflare(options, token)];
    case "varnish":
      return [...new Set([options.url].flat())].map((url) => varnish(url, token));
    case "generic":
      return [endpoint(options, token)];
  }
}

const json = { "Content-Type": "application/json" };
const jsonMaxBytes = 256 * 1024;
const withoutSlash = (url: string) => url.replace(/\/+$/, "");

/** https://www.fastly.com/documentation/reference/api/purging/ */
function fastly({ service, api_url: api }: PurgeOptionsOf<"fastly">, token: string): PurgeTarget {
  return {
    name: `fastly ${service}`,
    maxTags: 256,
    maxBytes: jsonMaxBytes,
    // 100,000 purges an hour for an account, counted by key and shared with the account's other
    // services.
    budget: { unit: "tag", burst: 10_000, perSecond: 25 },
    toRequest: (tags) => ({
      url: `${withoutSlash(api)}/service/${service}/purge`,
      method: "POST",
      headers: {
        ...json,
        Accept: "application/json",
        "Fastly-Key": token,
      },
      body: JSON.stringify({ surrogate_keys: tags }),
    }),
  };
}

/** Requests per account: https://developers.cloudflare.com/cache/how-to/purge-cache/ */
const cloudflareBudgets: Readonly<Record<PurgeOptionsOf<"cloudflare">["plan"], PurgeBudget>> = {
  free: { unit: "request", burst: 25, perSecond: 5 / 60 },
  pro: { unit: "request", burst: 25, perSecond: 5 },
  business: { unit: "request", burst: 50, perSecond: 10 },
  enterprise: { unit: "request", burst: 500, perSecond: 50 },
};

function cloudflare({ zone, plan, api_url: api }: PurgeOptionsOf<"cloudflare">, token: string): PurgeTarget {
  return {
    name: `cloudflare ${zone}`,
    maxTags: 100,
    maxBytes: jsonMaxBytes,
    budget: cloudflareBudgets[plan],
    toRequest: (tags) => ({
      url: `${withoutSlash(api)}/client/v4/zones/${zone}/purge_cache`,
      method: "POST",
      headers: { ...json, Authorization: `Bearer ${token}` },
      body: JSON.stringify({ tags }),
    }),
    findProblem: (body) => {
      const { success, errors } = JSON.parse(body) as { success?: boolean; errors?: { message?: string }[] };
      return success === true ? undefined : (errors?.[0]?.message ?? "the response does not report success");
    },
  };
}

/** With `deploy/varnish.vcl`. */
function varnish(url: string, token: string): PurgeTarget {
  return {
    name: `varnish ${hideCredentials(url)}`,
    maxTags: 1000,
    // `http_req_hdr_len` limits a header line to 8 kB by default.
    maxBytes: 7800,
    budget: undefined,
    toRequest: (tags) => ({
      url,
      method: "PURGE",
      headers: {
        "xkey-purge": tags.join(" "),
        ...(token !== "" && { Authorization: `Bearer ${token}` }),
      },
    }),
    // A Varnish server with another configuration forwards PURGE, and may return 200 for it.
    findProblem: (body) => (/^\d+ purged/m.test(body) ? undefined : "the response is not that of deploy/varnish.vcl"),
  };
}

function endpoint(options: PurgeOptionsOf<"generic">, token: string): PurgeTarget {
  const { url, method, headers, body, max_tags: maxTags, requests_per_minute: perMinute, burst } = options;
  return {
    name: `generic ${hideCredentials(url)}`,
    maxTags,
    // Servers accept header lines of 8 kB.
    maxBytes: Object.values(headers).some((value) => value.includes("{tags}")) ? 7800 : jsonMaxBytes,
    budget: { unit: "request", burst, perSecond: perMinute / 60 },
    toRequest: (tags) => ({
      url,
      method,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          value.replaceAll("{token}", () => token).replaceAll("{tags}", () => tags.join(",")),
        ]),
      ),
      ...(method !== "GET" && method !== "HEAD" && { body: body.replaceAll("{tags}", () => JSON.stringify(tags)) }),
    }),
  };
}
