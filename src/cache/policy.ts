/** How long browsers and shared caches may keep a response. */
export interface CachePolicy {
  readonly cacheControl: string;
  /** The same for the header that only a CDN reads. */
  readonly cdnCacheControl: string;
  /** How long a stale response may be served while its source fails, in seconds. */
  readonly staleIfErrorS: number;
}

const directives = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"] as const;
const maxSeconds = 365 * 86_400;

/** Fastly ignores `no-store`, and keeps a response without `max-age` for an hour. */
export const cdnNoStore = "no-store, max-age=0";

/**
 * @param text such as `max-age=60, s-maxage=300`, or `no-store`
 * @throws Error that names the accepted directives
 */
export function parseCachePolicy(text: string): CachePolicy {
  if (text.trim() === "no-store") {
    return { cacheControl: "no-store", cdnCacheControl: cdnNoStore, staleIfErrorS: 0 };
  }
  const seconds = new Map<string, number>();
  for (const part of text.split(",")) {
    const [, name = "", value = ""] = part.trim().match(/^([a-z-]+)=(\d{1,9})$/) ?? [];
    if (!directives.some((directive) => directive === name) || seconds.has(name) || Number(value) > maxSeconds) {
      throw new Error(
        `expected no-store, or each at most once ${directives.map((name) => `${name}=SECONDS`).join(", ")}`,
      );
    }
    seconds.set(name, Number(value));
  }
  const list = (names: readonly (typeof directives)[number][]) =>
    names.filter((name) => seconds.has(name)).map((name) => `, ${name}=${seconds.get(name)}`);
  const shared = seconds.get("s-maxage") ?? seconds.get("max-age") ?? 0;
  return {
    cacheControl: `public${list(directives).join("")}`,
    cdnCacheControl: `public, max-age=${shared}${list(["stale-while-revalidate", "stale-if-error"]).join("")}`,
    staleIfErrorS: seconds.get("stale-if-error") ?? 0,
  };
}

/** Changes the lifetime in a CDN; `no-store` stays. */
export const withCdnLifetime = (policy: CachePolicy, seconds: number): CachePolicy => ({
  ...policy,
  cdnCacheControl: policy.cdnCacheControl.replace(/^public, max-age=\d+/, `public, max-age=${seconds}`),
});

/** @param isPurgeable whether the CDN can purge the response, and so may keep it */
export const cacheHeaders = (
  { cacheControl, cdnCacheControl }: CachePolicy,
  cdn: { readonly cacheField: string } | undefined,
  isPurgeable = true,
): Readonly<Record<string, string>> => ({
  "Cache-Control": cacheControl,
  ...(cdn !== undefined && { [cdn.cacheField]: isPurgeable ? cdnCacheControl : cdnNoStore }),
});
