/** How long browsers and shared caches may keep a response. */
export interface CachePolicy {
  /** `Cache-Control`. */
  readonly cacheControl: string;
  /** `CDN-Cache-Control`, which shared caches read instead. */
  readonly cdnCacheControl: string;
  /** Seconds for which a stale response may be served while its source fails. */
  readonly staleIfErrorS: number;
}

const directives = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"] as const;
const maxSeconds = 365 * 86_400;

/**
 * Parses directives with their seconds, such as `max-age=60, s-maxage=300`, or `no-store`.
 * @throws Error that names the accepted directives
 */
export function parseCachePolicy(text: string): CachePolicy {
  if (text.trim() === "no-store") return { cacheControl: "no-store", cdnCacheControl: "no-store", staleIfErrorS: 0 };
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

export const cacheHeaders = ({ cacheControl, cdnCacheControl }: CachePolicy) => ({
  "Cache-Control": cacheControl,
  "CDN-Cache-Control": cdnCacheControl,
});
