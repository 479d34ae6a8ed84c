import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { dig, queryProduct, sendQuery } from "./client.ts";

let now = Date.UTC(2026, 10, 21);
const platform = startStandIn({
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

describe("a bucket with too few points", () => {
  test("throttles with status 200 and no data, and spends nothing", async () => {
    platform.findApp().bucket.change({}, 100);
    const { throttled } = platform.counters;
    const { status, data, errors, cost } = await queryProduct(platform, first);
    expect(status).toBe(200);
    expect(data).toBeUndefined();
    expect(errors).toEqual([{ message: "Throttled", extensions: expect.objectContaining({ code: "THROTTLED" }) }]);
    expect(cost).toEqual({
      requestedQueryCost: 131,
      actualQueryCost: null,
      throttleStatus: { maximumAvailable: 150, restoreRate: 100, currentlyAvailable: 100 },
    });
    expect(platform.counters.throttled).toBe(throttled + 1);
  });

  test("responds once the missing points are restored", async () => {
    platform.findApp().bucket.change({}, 100);
    now += 300;
    expect((await queryProduct(platform, first)).errors).toBeDefined();
    now += 10;
    expect((await queryProduct(platform, first)).errors).toBeUndefined();
  });

  test("fills up to its size", async () => {
    now += 3_600_000;
    const { cost } = await sendQuery(platform, "{ shop { name } }");
    expect(cost.throttleStatus.currentlyAvailable).toBe(149);
  });

  test("belongs to one app", async () => {
    platform.findApp("one").bucket.change({}, 0);
    expect((await queryProduct(platform, first)).errors).toBeDefined();
    const other = await sendQuery(platform, "{ shop { name } }", {}, { token: "token-of-two" });
    expect(dig(other.data, "shop.name")).toBe("Stand-in Tableware");
  });
});
