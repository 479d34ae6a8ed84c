import { afterAll, describe, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { dig, digText, queryProduct, sendQuery } from "./client.ts";

const platform = startStandIn({ products: 5, specials: ["hugeId"] });
afterAll(() => platform.stop());

async function command(body: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(platform.controlUrl, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

async function look(query = ""): Promise<unknown> {
  return (await fetch(platform.controlUrl + query)).json();
}

describe("another process", () => {
  test("lists, edits, removes, and adds products", async () => {
    const ids = (await command({ do: "ids", from: 1, count: 2 })).body;
    expect(dig(ids, "ids")).toEqual([platform.catalog.idAt(1), platform.catalog.idAt(2)]);
    const id = digText(ids, "ids.0");
    const touched = await command({ do: "touch", id, changes: { product: { title: "Elsewhere" } }, at: 1_800_000_000 });
    expect(touched.body).toEqual({ ok: true, updatedAt: "2027-01-15T08:00:00Z" });
    expect(dig((await queryProduct(platform, id)).data, "product.title")).toBe("Elsewhere");
    await command({ do: "remove", id: `gid://shopify/Product/${id}` });
    expect(dig((await queryProduct(platform, id)).data, "product")).toBeNull();
    const added = await command({ do: "add", id: "77", changes: { product: { title: "Seventy-seven" } } });
    expect(added.body).toEqual({ ok: true, id: "77" });
    expect(dig((await queryProduct(platform, "77")).data, "product.title")).toBe("Seventy-seven");
  });

  test("sets and clears faults", async () => {
    await command({ do: "fault", fault: { kind: "status", status: 503, count: 3 } });
    expect((await sendQuery(platform, "{ shop { name } }").catch(() => ({ status: 503 }))).status).toBe(503);
    expect(dig(await look(), "faults")).toEqual([{ kind: "status", status: 503, count: 2 }]);
    await command({ do: "clearFaults" });
    expect((await sendQuery(platform, "{ shop { name } }")).status).toBe(200);
  });

  test("sets the bucket, scopes, tokens, and bulk runs", async () => {
    await command({ do: "bucket", available: 7, restoreRate: 0 });
    expect(dig(await look(), "apps.0.throttleStatus")).toEqual({
      maximumAvailable: 2_000,
      restoreRate: 0,
      currentlyAvailable: 7,
    });
    await command({ do: "bucket", available: 2_000 });
    await command({ do: "scopes", scopes: [] });
    expect(dig(await look(), "apps.0.scopes")).toEqual([]);
    await command({ do: "revokeTokens" });
    expect((await sendQuery(platform, "{ shop { name } }")).status).toBe(401);
    await command({ do: "restoreTokens" });
    expect((await sendQuery(platform, "{ shop { name } }")).status).toBe(200);
    await command({ do: "bulk", order: "nested", runningMs: 9 });
    expect(dig(await look(), "bulk")).toMatchObject({ order: "nested", runningMs: 9, createdMs: 50 });
    await command({ do: "scopes", scopes: ["read_products"] });
  });

  test("reads the counters", async () => {
    await command({ do: "resetCounters" });
    const id = platform.catalog.idAt(3);
    const { cost } = await queryProduct(platform, id);
    await queryProduct(platform, id);
    await sendQuery(platform, "{ shop { name } }");
    expect(dig(await look(), "counters")).toEqual({
      requests: { ProductById: 2, anonymous: 1 },
      faults: {},
      points: { ProductById: 2 * (cost.actualQueryCost ?? 0), anonymous: 1 },
      pointsSpent: 2 * (cost.actualQueryCost ?? 0) + 1,
      throttled: 0,
      tokenGrants: 0,
      bulkRuns: 0,
      bulkDownloads: 0,
      productReads: { products: 1, reads: 2 },
    });
    expect(dig(await look("?reads=all"), "counters.productReads")).toEqual({ [id]: 2 });
  });
});
