import cronstrue from "cronstrue";
import { describeSchedule } from "./plan.ts";
import type { Schedule } from "./schedule.ts";

/** Describes a schedule in words: "At 03:30, New York". */
export function scheduleInWords(schedule: Schedule): string {
  const { expression, timeZone, isForEveryHour } = schedule;
  const words = toWords(expression.trim().toLowerCase().replaceAll(/\s+/g, " "));
  if (words === undefined) return describeSchedule(schedule);
  return isForEveryHour ? words : `${words}, ${placeOf(timeZone)}`;
}

/** @returns undefined for an expression that the library does not know, but the runtime does */
function toWords(expression: string): string | undefined {
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true });
  } catch {
    return undefined;
  }
}

const placeOf = (timeZone: string) => (timeZone.split("/").at(-1) ?? timeZone).replaceAll("_", " ");
