/** Texts for people: numbers, sizes and times. Instants are ISO 8601 in UTC, or epoch milliseconds. */

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A duration in its largest unit of which it has two. */
export function inWords(seconds: number): string {
  const [unit, length] = units.find(([, length]) => seconds >= 2 * length) ?? ["second", 1];
  const count = Math.round(seconds / length);
  return counted(count, unit);
}

/** How long ago or how soon an instant is. */
export function relative(instant: number, now: number): string {
  const seconds = (now - instant) / 1000;
  if (Math.abs(seconds) < 2) return seconds < 0 ? "now" : "just now";
  return seconds > 0 ? `${inWords(seconds)} ago` : `in ${inWords(-seconds)}`;
}

/** An instant to the second, with its zone. */
export const exact = (instant: string) => `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`;

const numbers = new Intl.NumberFormat("en-US");

export const number = (value: number | bigint) => numbers.format(value);

/** A count with its noun. */
export const counted = (count: number, one: string, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** How long a run took: with a decimal where that says more. */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : inWords(seconds);
}
