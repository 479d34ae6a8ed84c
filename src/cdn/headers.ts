export interface Cdn {
  /** Header that only this CDN reads, instead of `Cache-Control`. */
  readonly cacheField: string;
  readonly tagField: string;
  readonly tagSeparator: "," | " ";
  readonly maxTagLength: number;
  /** Limit of the header's value, in bytes. */
  readonly maxTagsLength: number;
}

/**
 * The keys are values of the setting `CDN`. Only one CDN's headers are sent, to save bytes. A response
 * with too many tags is not cached, because CDNs drop tags.
 */
export const cdns = {
  none: undefined,
  // A purge accepts tags of 1,024 characters.
  cloudflare: {
    cacheField: "Cloudflare-CDN-Cache-Control",
    tagField: "Cache-Tag",
    tagSeparator: ",",
    maxTagLength: 1024,
    maxTagsLength: 16 * 1024,
  },
  fastly: {
    cacheField: "Surrogate-Control",
    tagField: "Surrogate-Key",
    tagSeparator: " ",
    maxTagLength: 1024,
    maxTagsLength: 16 * 1024,
  },
  // `http_resp_hdr_len` limits the line `xkey: TAGS` to 8 kB by default.
  varnish: {
    cacheField: "Surrogate-Control",
    tagField: "xkey",
    tagSeparator: " ",
    maxTagLength: 8000,
    maxTagsLength: 8000,
  },
  // Akamai has the lowest limits, and silently ignores longer tags.
  generic: {
    cacheField: "CDN-Cache-Control",
    tagField: "Cache-Tag",
    tagSeparator: ",",
    maxTagLength: 128,
    maxTagsLength: 8000,
  },
} as const satisfies Record<string, Cdn | undefined>;

export type CdnName = keyof typeof cdns;

/** Personalization changes are recorded by fingerprint: a purge needs no list of a style's SKUs. */
export const fingerprintTag = (fingerprint: number) => `pz-${fingerprint.toString(36)}`;

export const keyTag = (noun: string, key: string) => `${noun}-${percentEncode(key)}`;

/** Keeps RFC 3986 unreserved characters. Akamai ignores tags with parentheses or `*`. */
const percentEncode = (text: string) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** @returns undefined if the tags exceed a limit, so that the CDN could not purge the response */
export function toPurgeTags(
  tags: readonly string[],
  cdn: Cdn,
): { readonly field: string; readonly value: string } | undefined {
  const value = tags.join(cdn.tagSeparator);
  const fit = value.length <= cdn.maxTagsLength && tags.every((tag) => tag.length <= cdn.maxTagLength);
  return fit ? { field: cdn.tagField, value } : undefined;
}
