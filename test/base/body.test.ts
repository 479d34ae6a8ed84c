import { expect, test } from "bun:test";
import { LargeBodyError, readJson, readStart } from "../../src/base/body.ts";

/** Without an end. */
function endless() {
  const state = { sent: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      state.sent++;
      controller.enqueue(new Uint8Array(1000).fill(32));
    },
    cancel: () => {
      state.isCancelled = true;
    },
  });
  return { state, response: new Response(body) };
}

test("the start of a body without an end is read, and the rest is cancelled", async () => {
  const { response, state } = endless();
  expect(await readStart(response, 2500)).toEqual(Buffer.from(" ".repeat(2500)));
  expect(state.isCancelled).toBe(true);
  expect(state.sent).toBeLessThan(10);
  expect(await readStart(new Response("short"), 2500)).toEqual(Buffer.from("short"));
  expect(await readStart(new Response(null), 2500)).toHaveLength(0);
});

test("JSON is read up to a size", async () => {
  const json = (bytes: number) => new Response(`"${"x".repeat(bytes - 2)}"`);
  expect(await readJson(json(2 ** 20), 1)).toHaveLength(2 ** 20 - 2);
  expect(readJson(json(2 ** 20 + 1), 1)).rejects.toBeInstanceOf(LargeBodyError);
  expect(readJson(endless().response, 1)).rejects.toThrow("the response is larger than 1 MB");
  expect(readJson(new Response("<html>"), 1)).rejects.toBeInstanceOf(SyntaxError);
  expect(await readJson(new Response('\ufeff{"a":"é"}'), 1)).toEqual({ a: "é" });
});
