import { expect, test } from "bun:test";
import { setImmediate } from "node:timers/promises";
import { toLateBody } from "../../src/http/late-body.ts";

test.each([1, 13_999, 14_000, 16_384, 200_000, 1_000_000, 1_000_001, 6_000_000])(
  "a body of %i bytes that is late arrives whole, with its length",
  async (length) => {
    const body = new Uint8Array(length).map((_, index) => index % 251);
    await using server = Bun.serve({
      port: 0,
      fetch: async () => {
        await setImmediate();
        return new Response(toLateBody(body), { headers: { "Content-Type": "application/json" } });
      },
    });
    const response = await fetch(server.url);
    expect(response.headers.get("content-length")).toBe(`${length}`);
    expect(Buffer.compare(await response.bytes(), body)).toBe(0);
  },
);
