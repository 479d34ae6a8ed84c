/** Instants are ISO 8601 in UTC, or epoch milliseconds. */

/** Counts code points, as people and OpenAPI do. */
export const isLonger = (text: string, max: number) =>
  text.length > max && (text.length > 2 * max || [...text].length > max);

const numbers = new Intl.NumberFormat("en-US");

export const formatNumber = (value: number | bigint) => numbers.format(value);

const compactNumbers = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });

/** At most seven characters: "1.25M". */
export const formatCompactly = (value: number) => compactNumbers.format(value);

/** "1 run", "1,200 runs". */
export const pluralize = (count: number, singular: string, plural = `${singular}s`) =>
  `${formatNumber(count)} ${count === 1 ? singular : plural}`;

export const wasOrWere = (count: number) => (count === 1 ? "was" : "were");

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** "90 seconds" or "3 hours", in the largest unit that gives at least 2. */
export function durationInWords(seconds: number): string {
  const [unit, length] = units.find(([, length]) => seconds >= 2 * length) ?? ["second", 1];
  return pluralize(Math.round(seconds / length), unit);
}

/** At most seven characters: "90 s", "1.5 h". */
export function formatDurationCompactly(seconds: number): string {
  const [unit, length] = units.find(([, length]) => seconds >= 2 * length) ?? ["second", 1];
  const digits = seconds < 10 ? 100 : 10;
  return `${numbers.format(Math.round((seconds / length) * digits) / digits)} ${{ day: "d", hour: "h", minute: "min", second: "s" }[unit]}`;
}

/** Like {@link durationInWords}, with a decimal below ten seconds: "0.1 s". */
export const formatDuration = (seconds: number) =>
  seconds < 10 ? `${seconds.toFixed(1)} s` : durationInWords(seconds);

/** "5 minutes ago", "in 2 hours". */
export function relativeTime(instant: number, now: number): string {
  const seconds = (now - instant) / 1000;
  if (Math.abs(seconds) < 2) return seconds < 0 ? "now" : "just now";
  return seconds > 0 ? `${durationInWords(seconds)} ago` : `in ${durationInWords(-seconds)}`;
}

/** "2026-03-08 06:30:00 UTC". */
export const utcTime = (instant: string) => `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`;

/** Quotes a feed's code for a message if it is empty, or would look like several lines. */
export const quoteIfOdd = (code: string) => (code === "" || /\p{Cc}/u.test(code) ? JSON.stringify(code) : code);

export const truncate = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;

export const toSentence = (message: string) =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?…]$/.test(message) ? "" : "."}`;

/** For untrusted names: at most ten, each shortened. */
export function formatNames(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => truncate(name, 40));
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}
