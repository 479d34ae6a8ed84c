import { type Coding, compress, leastCompressed } from "./coding.ts";

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

/** What every answer carries. An answer is for any page to read, and nothing that a browser may run or show. */
const commonFields: Fields = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "X-Request-Id, Retry-After, ETag, Age, Cache-Status",
};

/** Of its answer's fields those that go with "not modified": what a cache brings up to date, and what lets a page read it. */
const unchangedFields: RegExp = /^(access-control-|age$|cache-|cdn-|etag$|surrogate-|vary$)/i;

export interface ContentParts {
  /** 200 unless said otherwise. */
  readonly status?: number;
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** What changes with the body, without quotes; with one, requests may be conditional and bodies compressed. */
  readonly tag?: string;
  readonly headers?: Fields;
}

/** A finished body and what is said with it; its compressed forms are made once, when they are first asked for. */
export class Content {
  readonly status: number;
  /** The body as it is. A response shares a blob, where it would copy bytes. */
  readonly body: Blob;
  /** The entity tag as it is sent: weak, since every coding of the body has the same. */
  readonly etag: string | undefined;
  readonly fields: Fields;
  readonly isCompressible: boolean;
  readonly #coded = new Map<Coding, Blob | Promise<Blob>>();

  constructor({ status = 200, type, body, tag, headers }: ContentParts) {
    this.status = status;
    this.body = new Blob([body]);
    this.etag = tag === undefined ? undefined : `W/"${tag}"`;
    this.isCompressible = tag !== undefined && this.body.size >= leastCompressed;
    this.fields = {
      "Content-Type": type,
      ...commonFields,
      ...(this.etag !== undefined && { ETag: this.etag, Vary: "Accept-Encoding" }),
      ...headers,
    };
  }

  /** The most bytes that it takes with its compressed forms, which together are smaller than the body. */
  get size(): number {
    return this.body.size * (this.isCompressible ? 2 : 1);
  }

  in(coding: Coding): Blob | Promise<Blob> {
    if (coding === "identity") return this.body;
    const known = this.#coded.get(coding);
    if (known !== undefined) return known;
    const making = this.#compress(coding);
    this.#coded.set(coding, making);
    return making;
  }

  async #compress(coding: Exclude<Coding, "identity">): Promise<Blob> {
    const coded = new Blob([await compress(await this.body.bytes(), coding)]);
    this.#coded.set(coding, coded);
    return coded;
  }
}

/** A finished answer: what is sent as often as it is asked for, with nothing to be made but the response itself. */
export class Answer {
  readonly content: Content;
  readonly #notes: Fields;
  readonly #headers = new Map<Coding | "unchanged", Headers>();

  /** @param notes fields that say how this answer came about */
  constructor(content: Content, notes: Fields = {}) {
    this.content = content;
    this.#notes = notes;
  }

  /** The fields of one form, shared by all answers in it: a response copies them, so that a value of its own may be set before it. */
  headersFor(form: Coding | "unchanged"): Headers {
    let headers = this.#headers.get(form);
    if (headers === undefined) {
      headers = this.#makeHeaders(form);
      this.#headers.set(form, headers);
    }
    return headers;
  }

  #makeHeaders(form: Coding | "unchanged"): Headers {
    const fields: Record<string, string> = { ...this.content.fields, ...this.#notes };
    if (form === "identity") return new Headers(fields);
    if (form === "unchanged") {
      return new Headers(Object.entries(fields).filter(([name]) => unchangedFields.test(name)));
    }
    return new Headers({ ...fields, "Content-Encoding": form });
  }
}

/** Whether an `If-None-Match` names the entity tag; tags are compared weakly. */
export function isNamed(etag: string, ifNoneMatch: string): boolean {
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === "*") return true;
  const opaque = etag.slice(2);
  return ifNoneMatch.match(/"[^"]*"/g)?.some((named) => named === opaque) ?? false;
}

/** A tag made of a body that no store keeps one for. */
export const tagOf = (body: string) => Bun.hash.xxHash3(body).toString(36);

/** An answer that is made for one request. */
export const toAnswer = (parts: ContentParts) => new Answer(new Content(parts));
