import { findTimeZone } from "../../base/time-zone.ts";

/**
 * `2026-03-08T06:30:00Z` becomes `2026-03-08T01:30:00-05:00`, without fractions of a second.
 * @returns a function that throws RangeError when its text is not an instant
 * @throws Error when the zone is unknown
 */
export function localTimeFormatter(ianaTimezone: string): (utc: string) => string {
  const zone = findTimeZone(ianaTimezone);
  if (zone === undefined) throw new Error(`the shop's time zone ${JSON.stringify(ianaTimezone)} is unknown`);
  // A reconcile converts millions of timestamps, which have two or three offsets.
  const offsets = new Map<number, string>();
  return (utc) => {
    const instant = Temporal.Instant.from(utc).epochMilliseconds;
    const { offsetMs } = zone(instant);
    const offset = offsets.getOrInsertComputed(offsetMs, toText);
    return new Date(instant + offsetMs).toISOString().slice(0, -".000Z".length) + offset;
  };
}

/** `-05:00`, without the seconds that offsets of the past have (Liberia until 1972). */
function toText(offsetMs: number): string {
  const hours = new Date(Math.round(Math.abs(offsetMs) / 60_000) * 60_000)
    .toISOString()
    .slice("1970-01-01T".length, -":00.000Z".length);
  return `${offsetMs < 0 ? "-" : "+"}${hours}`;
}
