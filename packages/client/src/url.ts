import { ProductDataError } from "./errors.ts";

/**
 * The base URL without slashes at its end.
 * @throws ProductDataError `bad_request` when requests could not be sent to it
 */
export function parseBaseUrl(baseUrl: unknown): string {
  const root = String(baseUrl).replace(/\/+$/, "");
  const page = (globalThis as { location?: { href?: string } }).location?.href;
  try {
    // Without a scheme, a name would be a path of the page.
    if (/^(https?:\/\/[^?#]+|\/[^?#]*|)$/.test(root) && new URL(root, page)) return root;
  } catch {}
  throw new ProductDataError("bad_request", `${quote(baseUrl)} is not a URL that starts with http:// or https://.`);
}

/** @throws ProductDataError `bad_request` for a number that may have been rounded */
export function toExactText(id: string | number | bigint): string {
  if (typeof id === "bigint" || Number.isSafeInteger(id)) return `${id}`;
  if (typeof id !== "number") return id;
  const message = `${id} is not an exact product ID. Pass IDs beyond 2^53 as a string or bigint.`;
  throw new ProductDataError("bad_request", message);
}

/**
 * @throws ProductDataError `bad_request` for anything that a URL path can't hold: no text, an empty
 *   one, `.`, `..`, or a lone surrogate
 */
export function encodeSegment(text: string): string {
  return encode(text, /^\.{0,2}$/, "path");
}

/** @throws ProductDataError `bad_request` unless it is a list of texts that a URL can hold */
export function toQuery(skus: readonly string[]): string {
  if (!Array.isArray(skus) || skus.length === 0) throw new ProductDataError("bad_request", "Pass a list of SKUs.");
  return `?${skus.map((sku) => `sku=${encode(sku, /^$/, "query")}`).join("&")}`;
}

function encode(text: unknown, refused: RegExp, part: string): string {
  try {
    if (typeof text === "string" && !refused.test(text)) return encodeURIComponent(text);
  } catch {}
  throw new ProductDataError("bad_request", `${quote(text)} cannot be used in a URL ${part}.`);
}

const quote = (value: unknown) => (typeof value === "string" ? JSON.stringify(value) : String(value));
