import { expect, test } from "bun:test";
import { refill } from "../../src/base/token-bucket.ts";

test.each([
  [0, 0, 0],
  [0, 2, 10],
  [-5, 2, 5],
  [98, 2, 100],
  [100, 600, 100],
])("a bucket of 100 with %d tokens has, after %d s at 5 per second, %d", (left, passedS, expected) => {
  expect(refill(left, passedS, { size: 100, perSecond: 5 })).toBe(expected);
});
