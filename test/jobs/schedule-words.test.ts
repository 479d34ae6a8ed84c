import { expect, test } from "bun:test";
import { scheduleInWords } from "../../src/jobs/schedule-words.ts";

test.each([
  ["30 3 * * *", "every day at 03:30, New York"],
  ["0 30 3 * * *", "every day at 03:30, New York"],
  ["5 0,12 * * *", "every day at 00:05 and 12:05, New York"],
  ["0 1,2,3 * * *", "every day at 01:00, 02:00 and 03:00, New York"],
  ["@daily", "every day at 00:00, New York"],
  ["@weekly", "every Sunday at 00:00, New York"],
  ["@monthly", "on day 1 of every month at 00:00, New York"],
  ["@hourly", "every hour"],
  ["0 6 * * MON-FRI", "Monday to Friday at 06:00, New York"],
  ["0 6 * * 1,3,sun", "every Monday, Wednesday and Sunday at 06:00, New York"],
  ["0 6 * * 7", "every Sunday at 06:00, New York"],
  ["0 6 15 * *", "on day 15 of every month at 06:00, New York"],
  ["* * * * *", "every minute"],
  ["*/5 * * * *", "every 5 minutes"],
  ["17 * * * *", "every hour, at minute 17"],
  ["0 */6 * * *", "every 6 hours"],
  ["5 */6 * * *", "every 6 hours, at minute 5"],
  // Without a simple description.
  ["*/7 * * * *", "*/7 * * * * America/New_York"],
  ["30 0 6 * * *", "30 0 6 * * * America/New_York"],
  ["0 6 1 1 *", "0 6 1 1 * America/New_York"],
  ["0 6 1 * MON", "0 6 1 * MON America/New_York"],
  ["0 9-17 * * *", "0 9-17 * * * America/New_York"],
  ["0 6 * * MON#1", "0 6 * * MON#1 America/New_York"],
  ["@yearly", "@yearly America/New_York"],
])("the schedule %j is described as %j", (expression, words) => {
  expect(scheduleInWords(expression, "America/New_York")).toBe(words);
});
