import { afterAll, describe, expect, test } from "bun:test";
import { createPlatform } from "../platform.ts";
import { ask, askProduct, dig } from "./client.ts";

let now = Date.UTC(2026, 10, 21);
const platform = createPlatform({
  products: 5,
  bucket: { maximumAvailable: 150, restoreRate: 100 },
  apps: [
    { name: "one", token: "shpat_stand-in" },
    { name: "two", token: "token-of-two" },
  ],
  now: () => now,
});
afterAll(() => platform.stop());
const first = platform.catalog.idAt(0);

describe("a bucket that holds too little", () => {
  test("throttles with status 200 and no data, and takes nothing", async () => {
    platform.findApp().bucket.change({}, 100);
    const { status, data, errors, cost } = await askProduct(platform, first);
    expect(status).toBe(200);
    expect(data).toBeUndefined();
    expect(errors).toEqual([{ message: "Throttled", extensions: expect.objectContaining({ code: "THROTTLED" }) }]);
    expect(cost).toEqual({
      requestedQueryCost: 131,
      actualQueryCost: null,
      throttleStatus: { maximumAvailable: 150, restoreRate: 100, currentlyAvailable: 100 },
    });
    expect(platform.counters.throttled).toBe(1);
  });

  test("answers after the time that the missing points need", async () => {
    platform.findApp().bucket.change({}, 100);
    now += 300;
    expect((await askProduct(platform, first)).errors).toBeDefined();
    now += 10;
    expect((await askProduct(platform, first)).errors).toBeUndefined();
  });

  test("fills up to its size and no further", async () => {
    now += 3_600_000;
    const { cost } = await ask(platform, "{ shop { name } }");
    expect(cost.throttleStatus.currentlyAvailable).toBe(149);
  });

  test("is one app's own", async () => {
    platform.findApp("one").bucket.change({}, 0);
    expect((await askProduct(platform, first)).errors).toBeDefined();
    const other = await ask(platform, "{ shop { name } }", {}, { token: "token-of-two" });
    expect(dig(other.data, "shop.name")).toBe("Stand-in Tableware");
  });
});
