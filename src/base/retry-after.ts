const maxRetryAfterS = 3600;

/**
 * Reads how long a server asks its client to wait. A date is compared with the server's own clock.
 * @returns seconds, at most an hour; undefined if the header is missing or malformed
 */
export function parseRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const sentMs = Date.parse(headers.get("date") ?? "") || Date.now();
  // Some platforms send fractions of a second.
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - sentMs) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(maxRetryAfterS, Math.max(0, seconds));
}
