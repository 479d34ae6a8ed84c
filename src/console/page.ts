/** What a page is asked for by. */
export interface PageRequest {
  readonly url: URL;
  /** A path parameter, decoded. */
  readonly parameter: (name: string) => string;
}

/** A finished page or file. */
export interface Page {
  readonly status?: number;
  readonly type: string;
  readonly body: string;
  /** Changes with the body. */
  readonly tag?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes a page. @returns undefined when there is nothing of that name */
export type Render = (request: PageRequest) => Page | undefined | Promise<Page | undefined>;

/** What a page may load from elsewhere, by origin; nothing unless it says so. */
export interface Admission {
  readonly images?: readonly string[];
  readonly scripts?: readonly string[];
  readonly answers?: readonly string[];
}

/** The policy of a page: its own files, and no script or style within it. The frames of copy, which have no address, inherit it. */
function contentPolicy({ images = [], scripts = [], answers = [] }: Admission): string {
  const from = (origins: readonly string[]) => ["'self'", ...origins].join(" ");
  return [
    "default-src 'none'",
    "style-src 'self'",
    `script-src ${from(scripts)}`,
    `img-src data: ${from(images)}`,
    `connect-src ${from(answers)}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

export interface HtmlOptions {
  readonly status?: number;
  readonly admission?: Admission;
}

export function toPage(html: { toString(): string }, { status = 200, admission = {} }: HtmlOptions = {}): Page {
  return {
    status,
    type: "text/html; charset=utf-8",
    body: `<!doctype html>${html}`,
    headers: {
      "Cache-Control": "no-store",
      "Content-Security-Policy": contentPolicy(admission),
      "Referrer-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
  };
}

/** A file that the pages load; it changes with the version. */
export function toFile(type: string, body: string): Render {
  const file: Page = {
    type,
    body,
    tag: Bun.hash.xxHash3(body).toString(36),
    headers: { "Cache-Control": "private, no-cache" },
  };
  return () => file;
}

/** A query parameter without the space around it; undefined when it is absent or empty. */
export function asked({ url }: PageRequest, name: string): string | undefined {
  return url.searchParams.get(name)?.trim() || undefined;
}

/** An address on this listener with those parameters that have a value. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, `${value}`] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** Hosts as they are named everywhere: an address may hold others, which would say something else in a policy. */
const plainOrigin = /^https?:\/\/([\w.-]{1,100}|\[[\d:a-f]+\])(:\d+)?$/;

/** The origin of a web address; undefined for anything else. */
export function originOf(address: string): string | undefined {
  const origin = URL.parse(address)?.origin ?? "";
  return plainOrigin.test(origin) ? origin : undefined;
}
