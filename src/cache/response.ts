import { EncodedBody } from "./encoded-body.ts";
import { type ContentEncoding, type Effort, minCompressibleBytes } from "./encoding.ts";

/** The header with a response's tags, which a CDN purges by. */
export interface PurgeTags {
  readonly field: string;
  readonly value: string;
}

export type HeaderFields = Readonly<Record<string, string>>;

/** On every response. Browsers must not execute an API response. */
const securityHeaders: HeaderFields = { "X-Content-Type-Options": "nosniff" };

/**
 * Lets pages of any site read a response. Browsers reject requests with credentials, for which `*`
 * would not mean all headers. A private listener removes these headers.
 */
const corsHeaders: HeaderFields = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*" };

/** Headers of a 304: those that a cache updates, and those that let a page read it. */
const notModifiedHeaders: RegExp = /^(access-control-|age$|cache-|(cloudflare-)?cdn-|etag$|surrogate-|vary$|xkey$)/i;

/** For responses with an entity tag, which may be compressed. */
export const varyByEncoding: HeaderFields = { Vary: "Accept-Encoding" };

type Representation = ContentEncoding | "not-modified";

/** Headers that many responses share, built once per representation, and not for every request. */
export class HeaderTemplate {
  readonly #fields: HeaderFields;
  readonly #headers = new Map<Representation, Headers>();

  constructor(contentType: string, fields: HeaderFields = {}) {
    this.#fields = { "Content-Type": contentType, ...securityHeaders, ...corsHeaders, ...fields };
  }

  headersFor(representation: Representation): Headers {
    let headers = this.#headers.get(representation);
    if (headers === undefined) {
      headers = this.#build(representation);
      this.#headers.set(representation, headers);
    }
    return headers;
  }

  #build(representation: Representation): Headers {
    if (representation === "identity") return new Headers(this.#fields);
    if (representation !== "not-modified") return new Headers({ ...this.#fields, "Content-Encoding": representation });
    return new Headers(Object.entries(this.#fields).filter(([name]) => notModifiedHeaders.test(name)));
  }
}

export interface ResponseBodyOptions {
  readonly template: HeaderTemplate;
  readonly status?: number;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Without quotes. Enables conditional requests and compression. */
  readonly tag?: string;
  readonly purgeTags?: PurgeTags | undefined;
  /** Another name of its object, by which other responses refer to it. */
  readonly alias?: string | undefined;
  readonly effort?: Effort;
}

export class ResponseBody extends EncodedBody {
  readonly status: number;
  /** As sent. It is weak because all encodings of the body share it. */
  readonly etag: string | undefined;
  readonly isCompressible: boolean;
  readonly purgeTags: PurgeTags | undefined;
  readonly alias: string | undefined;
  readonly #template: HeaderTemplate;

  constructor({ template, status = 200, body, tag, purgeTags, alias, effort }: ResponseBodyOptions) {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    super(bytes, effort);
    this.status = status;
    this.etag = tag === undefined ? undefined : `W/"${tag}"`;
    this.isCompressible = tag !== undefined && bytes.length >= minCompressibleBytes;
    this.#template = template;
    this.purgeTags = purgeTags;
    this.alias = alias;
  }

  /**
   * The template's shared `Headers` with this body's values. Valid until the next call for another
   * body, which must have the same headers.
   */
  headersFor(representation: Representation): Headers {
    const headers = this.#template.headersFor(representation);
    if (this.etag !== undefined) headers.set("ETag", this.etag);
    if (this.purgeTags !== undefined) headers.set(this.purgeTags.field, this.purgeTags.value);
    return headers;
  }
}

/** Older responses have an `Age` header. */
export const verifiedForMs = 1000;

export interface PreparedResponseOptions {
  /** `Cache-Status`; undefined if the cache does not know the response. */
  readonly cacheStatus?: string | undefined;
  readonly headers?: HeaderFields | undefined;
  /** Whether the data changed while it was loaded, so that a CDN must not keep the response. */
  readonly isOutdated?: boolean;
  /** When data was last known to be current, by `performance.now()`; undefined for other content. */
  readonly asOfMs?: number | undefined;
  /** Whether it was read from the store or the platform, and not from the cache. */
  readonly isRead?: boolean;
}

/** Can be sent any number of times; each request only creates the `Response` object. */
export class PreparedResponse {
  readonly body: ResponseBody;
  readonly cacheStatus: string | undefined;
  readonly isOutdated: boolean;
  readonly asOfMs: number | undefined;
  readonly isRead: boolean;
  readonly #extraHeaders: HeaderFields | undefined;

  constructor(body: ResponseBody, options: PreparedResponseOptions = {}) {
    const { cacheStatus, headers, isOutdated = false, asOfMs, isRead = false } = options;
    this.body = body;
    this.cacheStatus = cacheStatus;
    this.isOutdated = isOutdated;
    this.asOfMs = asOfMs;
    this.isRead = isRead;
    this.#extraHeaders = headers;
  }

  /** The same response for another URL, which refers to it. */
  with(headers: HeaderFields, reference: PreparedResponse): PreparedResponse {
    const { asOfMs = Number.POSITIVE_INFINITY } = reference;
    return new PreparedResponse(this.body, {
      cacheStatus: this.cacheStatus,
      headers: { ...this.#extraHeaders, ...headers },
      isOutdated: this.isOutdated || reference.isOutdated,
      isRead: this.isRead || reference.isRead,
      asOfMs: this.asOfMs && Math.min(this.asOfMs, asOfMs),
    });
  }

  /** Use the result before the next call, because responses may share it. */
  headersFor(representation: Representation): Headers {
    const shared = this.body.headersFor(representation);
    if (this.#extraHeaders === undefined) return shared;
    const headers = new Headers(shared);
    for (const [name, value] of Object.entries(this.#extraHeaders)) headers.set(name, value);
    return headers;
  }
}

/**
 * Whether an `If-None-Match` header matches the entity tag, by weak comparison. Searches instead of
 * parsing, because a header of 14 kB may hold thousands of tags. Our tags have no commas, so none
 * can span two others.
 */
export function matchesEntityTag(etag: string, ifNoneMatch: string): boolean {
  return ifNoneMatch.includes(etag.slice(2)) || ifNoneMatch.trim() === "*";
}

/** Has its own headers instead of a shared template. */
export interface ResponseParts
  extends Omit<ResponseBodyOptions, "template">,
    Pick<PreparedResponseOptions, "asOfMs" | "isRead"> {
  readonly type: string;
  readonly headers?: HeaderFields;
}

export function prepareResponse({ type, headers, asOfMs, isRead = false, ...parts }: ResponseParts): PreparedResponse {
  const fields = { ...(parts.tag !== undefined && varyByEncoding), ...headers };
  return new PreparedResponse(new ResponseBody({ ...parts, template: new HeaderTemplate(type, fields) }), {
    asOfMs,
    isRead,
  });
}

/** The `Age` header; undefined for a response that counts as current. */
export function toAge(ageMs: number): string | undefined {
  return ageMs < verifiedForMs ? undefined : `${Math.floor(ageMs / 1000)}`;
}
