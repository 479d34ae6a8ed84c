import type { PageRequest } from "../http/page.ts";
import { maxSkuLength } from "../personalization/lists.ts";

/** Without zero characters, which not every engine accepts, and halves of surrogate pairs. */
const toStorable = (text: string) => text.replaceAll("\0", "").toWellFormed();

/** A query parameter, trimmed; undefined when absent or empty. */
export function queryParameter({ url }: PageRequest, name: string): string | undefined {
  return toStorable(url.searchParams.get(name) ?? "").trim() || undefined;
}

export const toName = (text: string) => toStorable([...text].slice(0, maxSkuLength).join(""));

export function urlWithQuery(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const defined = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) defined.set(name, `${value}`);
  return defined.size === 0 ? path : `${path}?${defined}`;
}

/** An id that is also the fragment of a URL. It has no spaces, which separate ids in attributes. */
export const elementId = (kind: string, ...key: readonly (string | number)[]) =>
  [kind, ...key].map(encodeURIComponent).join(":");

/** The requested page with other parameters; undefined removes one. */
export function urlOf({ url }: PageRequest, changes: Readonly<Record<string, string | number | undefined>>): string {
  return urlWithQuery(url.pathname, { ...Object.fromEntries(url.searchParams), ...changes });
}

/**
 * Other characters that a URL allows in a host, such as `;` and `*`, have a meaning in a content
 * security policy.
 */
const safeOrigin = /^https?:\/\/([\w.-]{1,100}|\[[\d:a-f]+\])(:\d+)?$/;

/** The origin of a web URL; undefined when it can't be listed in a content security policy. */
export function originOf(url: string): string | undefined {
  const origin = URL.parse(url)?.origin ?? "";
  return safeOrigin.test(origin) ? origin : undefined;
}
