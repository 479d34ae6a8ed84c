import { expect, test } from "bun:test";
import { parseRetryAfter } from "../../src/base/retry-after.ts";

test.each([
  ["7", 7],
  [" 7 ", 7],
  ["2.5", 2.5],
  ["999999", 3600],
  ["Sun, 22 Nov 2026 08:00:30 GMT", 30],
  ["Sun, 22 Nov 2026 07:00:00 GMT", 0],
  ["soon", undefined],
  [undefined, undefined],
])("Retry-After %p is %p seconds", (text, seconds) => {
  const headers = new Headers({ Date: "Sun, 22 Nov 2026 08:00:00 GMT", ...(text && { "Retry-After": text }) });
  expect(parseRetryAfter(headers)).toBe(seconds as number);
});
