import { expect, test } from "bun:test";
import { Slots } from "../../src/base/slots.ts";

const { signal } = new AbortController();
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a freed slot goes to the one that has waited longest, and no more are taken than there are", async () => {
  const slots = new Slots(2);
  const held: Disposable[] = [];
  const order: number[] = [];
  for (let index = 0; index < 5; index++) {
    void slots.take(signal).then((slot) => {
      order.push(index);
      held.push(slot as Disposable);
    });
  }
  const seen: number[][] = [];
  for (; seen.length < 5; held.shift()?.[Symbol.dispose]()) {
    await turn();
    seen.push([...order]);
  }
  expect(seen).toEqual([
    [0, 1],
    [0, 1, 2],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4],
    [0, 1, 2, 3, 4],
  ]);
});

test("a waiter that gives up takes no slot", async () => {
  const slots = new Slots(1);
  const first = await slots.take(signal);
  const leaving = new AbortController();
  const left = slots.take(leaving.signal);
  const next = slots.take(signal);
  leaving.abort();
  expect(await left).toBeUndefined();
  first?.[Symbol.dispose]();
  (await next)?.[Symbol.dispose]();
  expect(await slots.take(leaving.signal)).toBeUndefined();
  expect(await slots.take(signal)).toBeDefined();
});
