import { expect, test } from "bun:test";
import { CircuitBreaker } from "../../../src/platforms/shopify/circuit-breaker.ts";

const operation = "ProductById";
const outage = { kind: "status", status: 502 } as const;

/** A breaker after an outage, whose clock the test moves. */
function openBreaker() {
  let nowMs = 0;
  const breaker = new CircuitBreaker(() => nowMs);
  for (let failures = 0; failures < 5; failures++) breaker.fail(operation, outage);
  return {
    breaker,
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** How many of three requests are sent. */
    countSent: () =>
      [1, 2, 3].filter(() => {
        try {
          breaker.check(operation);
          return true;
        } catch {
          return false;
        }
      }).length,
  };
}

test("an operation that keeps failing is not sent, and others are", () => {
  const { breaker, pass, countSent } = openBreaker();
  expect(countSent()).toBe(0);
  pass(9000);
  expect(countSent()).toBe(0);
  expect(() => breaker.check("Shop")).not.toThrow();
});

test("after the pause, one request decides: its success lets the others through", () => {
  const { breaker, pass, countSent } = openBreaker();
  pass(10_000);
  expect(countSent()).toBe(1);
  expect(countSent()).toBe(0);
  breaker.succeed(operation);
  expect(countSent()).toBe(3);
});

test("after the pause, one request decides: its failure begins another pause", () => {
  const { breaker, pass, countSent } = openBreaker();
  pass(10_000);
  expect(countSent()).toBe(1);
  pass(3000);
  breaker.fail(operation, outage);
  pass(9000);
  expect(countSent()).toBe(0);
  pass(1000);
  expect(countSent()).toBe(1);
});

test("a request that never ends decides nothing: another one does", () => {
  const { pass, countSent } = openBreaker();
  pass(10_000);
  expect(countSent()).toBe(1);
  pass(10_000);
  expect(countSent()).toBe(1);
});
