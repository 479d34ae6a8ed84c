import { type Coding, compress, minCompressibleBytes } from "./encoding.ts";

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

/** What every answer carries. It is nothing that a browser may run or show. */
const commonFields: Fields = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

/** Lets the pages of any site read a response; a private listener takes it away again. */
const sharedFields: Fields = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "X-Request-Id, Retry-After, ETag, Age, Cache-Status",
};

/** Of its answer's fields those that go with "not modified": what a cache brings up to date, and what lets a page read it. */
const unchangedFields: RegExp = /^(access-control-|age$|cache-|cdn-|etag$|surrogate-|vary$)/i;

/** Goes with each answer that has an entity tag: those are compressed for who asks. */
export const varyByEncoding: Fields = { Vary: "Accept-Encoding" };

type Form = Coding | "unchanged";

/** The fields that many answers share, made once for each form in which they are sent: what is used for all stays at hand. */
export class Template {
  readonly #fields: Fields;
  readonly #headers = new Map<Form, Headers>();

  constructor(type: string, fields: Fields = {}) {
    this.#fields = { "Content-Type": type, ...commonFields, ...sharedFields, ...fields };
  }

  headersFor(form: Form): Headers {
    let headers = this.#headers.get(form);
    if (headers === undefined) {
      headers = this.#makeHeaders(form);
      this.#headers.set(form, headers);
    }
    return headers;
  }

  #makeHeaders(form: Form): Headers {
    if (form === "identity") return new Headers(this.#fields);
    if (form !== "unchanged") return new Headers({ ...this.#fields, "Content-Encoding": form });
    return new Headers(Object.entries(this.#fields).filter(([name]) => unchangedFields.test(name)));
  }
}

/** Tags by which caches in between are told to forget an answer, with commas and with spaces. */
export interface PurgeTags {
  readonly commas: string;
  readonly spaces: string;
}

export interface ContentParts {
  readonly template: Template;
  /** 200 unless said otherwise. */
  readonly status?: number;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** What changes with the body, without quotes; with one, requests may be conditional and bodies compressed. */
  readonly tag?: string;
  readonly purgeTags?: PurgeTags;
}

/** A finished body and what is said with it; its compressed forms are made once, when they are first asked for. */
export class Content {
  readonly status: number;
  /** The body as it is. A response shares a blob, where it would copy bytes. */
  readonly body: Blob;
  /** The entity tag as it is sent: weak, since every coding of the body has the same. */
  readonly etag: string | undefined;
  readonly isCompressible: boolean;
  readonly #template: Template;
  readonly #purgeTags: PurgeTags | undefined;
  #coded: Map<Coding, Blob | Promise<Blob>> | undefined;

  constructor({ template, status = 200, body, tag, purgeTags }: ContentParts) {
    this.status = status;
    this.body = new Blob([body]);
    this.etag = tag === undefined ? undefined : `W/"${tag}"`;
    this.isCompressible = tag !== undefined && this.body.size >= minCompressibleBytes;
    this.#template = template;
    this.#purgeTags = purgeTags;
  }

  /** The most bytes that it takes with its compressed forms, which together are smaller than the body. */
  get size(): number {
    return this.body.size * (this.isCompressible ? 2 : 1);
  }

  /** Its fields in a form. They are the template's, with its own values until the next content sets others: a response copies them. */
  headersFor(form: Form): Headers {
    const headers = this.#template.headersFor(form);
    if (this.etag !== undefined) headers.set("ETag", this.etag);
    if (this.#purgeTags !== undefined) {
      headers.set("Cache-Tag", this.#purgeTags.commas);
      headers.set("Surrogate-Key", this.#purgeTags.spaces);
    }
    return headers;
  }

  in(coding: Coding): Blob | Promise<Blob> {
    if (coding === "identity") return this.body;
    this.#coded ??= new Map();
    const known = this.#coded.get(coding);
    if (known !== undefined) return known;
    const making = this.#compress(coding, this.#coded);
    this.#coded.set(coding, making);
    return making;
  }

  async #compress(coding: Exclude<Coding, "identity">, coded: Map<Coding, Blob | Promise<Blob>>): Promise<Blob> {
    const made = new Blob([await compress(await this.body.bytes(), coding)]);
    coded.set(coding, made);
    return made;
  }
}

/** A finished answer: what is sent as often as it is asked for, with nothing to be made but the response itself. */
export class Answer {
  readonly content: Content;
  readonly #notes: Fields | undefined;

  /** @param notes fields that say how this answer came about, where that is not as usual */
  constructor(content: Content, notes?: Fields) {
    this.content = content;
    this.#notes = notes;
  }

  /** Its fields in a form, which are to be used before anybody else asks for theirs. */
  headersFor(form: Form): Headers {
    const usual = this.content.headersFor(form);
    if (this.#notes === undefined) return usual;
    const headers = new Headers(usual);
    for (const [name, value] of Object.entries(this.#notes)) headers.set(name, value);
    return headers;
  }
}

/** Whether an `If-None-Match` names the entity tag; tags are compared weakly. */
export function matchesEntityTag(etag: string, ifNoneMatch: string): boolean {
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === "*") return true;
  const opaque = etag.slice(2);
  return ifNoneMatch.match(/"[^"]*"/g)?.some((named) => named === opaque) ?? false;
}

/** A tag made of a body that no store keeps one for. */
export const hashTag = (body: string) => Bun.hash.xxHash3(body).toString(36);

/** What an answer that is made by itself is made of. */
export interface AnswerParts extends Omit<ContentParts, "template"> {
  readonly type: string;
  readonly headers?: Fields;
}

export function toAnswer({ type, headers, ...parts }: AnswerParts): Answer {
  const fields = { ...(parts.tag !== undefined && varyByEncoding), ...headers };
  return new Answer(new Content({ ...parts, template: new Template(type, fields) }));
}
