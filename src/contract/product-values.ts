/** Largest identifier: a signed 64-bit integer. */
export const maxId = 2n ** 63n - 1n;

/** A `number` where that is exact, otherwise a `bigint`. */
export type Id = number | bigint;

/** Accepts digits without a leading zero, within signed 64 bits; undefined for anything else. */
export function parseProductId(text: string): bigint | undefined {
  if (!/^[1-9]\d{0,18}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= maxId ? value : undefined;
}

/** Converts decimal text to an identifier, exactly. */
export function toId(text: string): Id {
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : BigInt(text);
}

/**
 * Writes an amount with two decimal places, as text because a double could change it: `3000`
 * becomes `3000.00`, `12.500` becomes `12.50`. Undefined when that would change the amount, as for
 * `12.345`.
 */
export function toMoney(amount: string): string | undefined {
  const [, whole, places = ""] = /^(-?\d+)(?:\.(\d{0,2})0*)?$/.exec(amount) ?? [];
  return whole === undefined ? undefined : `${whole}.${places.padEnd(2, "0")}`;
}

/** Host and path of an image, without the version in the query, which differs between responses. */
export function addressOf(url: string): string {
  const query = url.indexOf("?");
  return url.slice(url.indexOf("//"), query < 0 ? undefined : query);
}
