import { hashTag } from "../base/hash.ts";

/** The sender of a request to the admin listener, with their rights. */
export interface Viewer {
  /** Name of the operator; undefined if the listener needs no token, except for the demo. */
  readonly operator: string | undefined;
  /** `view` only reads, `operate` also acts. */
  readonly role: "view" | "operate";
  /** Token that this session's forms must send; undefined if the request itself sent a token. */
  readonly formToken: string | undefined;
}

/** A request for an HTML page or one of its files, independent of the server. */
export interface PageRequest {
  readonly url: URL;
  readonly parameter: (name: string) => string;
  readonly viewer?: Viewer | undefined;
}

export interface Page {
  readonly status?: number;
  readonly type: string;
  readonly body: string;
  /** Without quotes; changes with the body. */
  readonly tag?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Renders a page. @returns undefined when the requested object does not exist */
export type RenderPage = (request: PageRequest) => Page | undefined | Promise<Page | undefined>;

/** Origins that a page may load from, besides its own. */
export interface AllowedOrigins {
  readonly images?: readonly string[];
  readonly scripts?: readonly string[];
  readonly connections?: readonly string[];
}

/** Inline scripts and styles stay blocked. */
export function contentSecurityPolicy({ images = [], scripts = [], connections = [] }: AllowedOrigins = {}): string {
  const from = (origins: readonly string[]) => ["'self'", ...origins].join(" ");
  return [
    "default-src 'none'",
    "style-src 'self'",
    `script-src ${from(scripts)}`,
    `img-src data: ${from(images)}`,
    `connect-src ${from(connections)}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

export function htmlPage(
  html: { toString(): string },
  { status = 200, allowedOrigins = {} }: { readonly status?: number; readonly allowedOrigins?: AllowedOrigins } = {},
): Page {
  return {
    status,
    type: "text/html; charset=utf-8",
    body: `<!doctype html>${html}`,
    headers: {
      "Cache-Control": "no-store",
      "Content-Security-Policy": contentSecurityPolicy(allowedOrigins),
    },
  };
}

/** @param location an ASCII path of the same listener */
export const redirectPage = (location: string): Page => ({
  status: 303,
  type: "text/plain; charset=utf-8",
  body: "",
  headers: { "Cache-Control": "no-store", Location: location },
});

/** A style sheet or script, revalidated by its entity tag. */
export function staticFile(file: Pick<Page, "type" | "body">, cacheControl: string): RenderPage {
  const page: Page = { ...file, tag: hashTag(file.body), headers: { "Cache-Control": cacheControl } };
  return () => page;
}
