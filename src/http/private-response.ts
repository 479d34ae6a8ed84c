/** Headers of a response for one person only, unless it sets its own. */
const defaults: Readonly<Record<string, string>> = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

/** Hides a response from pages of other sites, and from all caches but the browser's. */
export function makePrivate({ status, headers }: Response): void {
  for (const name of [...headers.keys()]) if (name.startsWith("access-control-")) headers.delete(name);
  if (headers.get("Cache-Control")?.startsWith("private") !== true) headers.set("Cache-Control", "private, no-store");
  // A 304 would replace the headers of the stored response.
  if (status === 304) return;
  for (const [name, value] of Object.entries(defaults)) if (!headers.has(name)) headers.set(name, value);
}
