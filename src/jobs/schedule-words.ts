import cronstrue from "cronstrue";
import { describeSchedule } from "./plan.ts";
import type { Schedule } from "./schedule.ts";

/** Such as "At 03:30, New York". */
export function scheduleInWords(schedule: Schedule): string {
  const { expression, timeZone, isForEveryHour } = schedule;
  const words = toWords(expression.trim().toLowerCase().replaceAll(/\s+/g, " "));
  if (words === undefined) return describeSchedule(schedule);
  return isForEveryHour ? words : `${words}, ${placeOf(timeZone)}`;
}

/** @returns undefined for an expression that the runtime accepts but the library does not */
function toWords(expression: string): string | undefined {
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true });
  } catch {
    return undefined;
  }
}

const placeOf = (timeZone: string) => (timeZone.split("/").at(-1) ?? timeZone).replaceAll("_", " ");
