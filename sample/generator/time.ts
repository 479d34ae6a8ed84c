import type { Random } from "./random.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

const firstSunday = (year: number, month: number) => 1 + ((7 - new Date(Date.UTC(year, month, 1)).getUTCDay()) % 7);

/**
 * An instant as New York writes it. The rule is that of 2007, still in force; it is written out so that the bytes do
 * not hang on the time zone data of the machine.
 */
export function toNewYork(instantMs: number): string {
  const year = new Date(instantMs).getUTCFullYear();
  const springMs = Date.UTC(year, 2, firstSunday(year, 2) + 7, 7);
  const fallMs = Date.UTC(year, 10, firstSunday(year, 10), 6);
  const offset = instantMs >= springMs && instantMs < fallMs ? 4 : 5;
  return `${new Date(instantMs - offset * hourMs).toISOString().slice(0, 19)}-0${offset}:00`;
}

/** A moment of the store's working hours, on the day that is `days` after an instant. */
export function workingMoment(fromMs: number, days: number, random: Random): number {
  const midnightMs = Math.floor(fromMs / dayMs) * dayMs;
  return midnightMs + days * dayMs + random.int(13 * 3600, 22 * 3600) * 1000;
}
