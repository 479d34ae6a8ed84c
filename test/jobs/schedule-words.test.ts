import { expect, test } from "bun:test";
import { parseSchedule } from "../../src/jobs/schedule.ts";
import { scheduleInWords } from "../../src/jobs/schedule-words.ts";

test.each([
  ["30 3 * * *", "At 03:30, New York"],
  [" 0  30\t3 * * * ", "At 03:30, New York"],
  ["@Daily", "At 00:00, New York"],
  ["0 6 * * MON-FRI", "At 06:00, Monday through Friday, New York"],
  ["0 6 1 jan *", "At 06:00, on day 1 of the month, only in January, New York"],
  ["0 */6 * * *", "On the hour, every 6 hours, New York"],
  // At each minute that they name, whatever the time zone.
  ["17,47 * * * *", "At 17 and 47 minutes past the hour"],
  ["*/5 0-23 * * *", "Every 5 minutes, between 00:00 and 23:59"],
  ["@hourly", "Every hour"],
])("the schedule %j is described as %j", (expression, words) => {
  expect(scheduleInWords(parseSchedule(expression, "America/New_York"))).toBe(words);
});
