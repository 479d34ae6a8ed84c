import { afterAll, describe, expect, test } from "bun:test";
import { type StandIn, type StandInOptions, startStandIn } from "../src/stand-in.ts";
import { dig, digList, digText, queryProduct, sendQuery } from "./client.ts";

const now = Date.UTC(2026, 10, 21, 9, 30, 15);
const started: StandIn[] = [];
afterAll(() => Promise.all(started.map((platform) => platform.stop())));

/** A stand-in for one test, whose edits no other test sees. */
function start(options: StandInOptions = {}): StandIn {
  const bucket = { maximumAvailable: 1_000_000 };
  const platform = startStandIn({ products: 50, variants: 4, now: () => now, bucket, ...options });
  started.push(platform);
  return platform;
}

describe("an edit", () => {
  test("within the same second adds a second to updatedAt, unless the time is given", async () => {
    const { catalog } = start();
    const id = catalog.idAt(2);
    catalog.touch(id);
    expect(catalog.touch(id)).toBe("2026-11-21T09:30:16Z");
    expect(catalog.touch(id, {}, { at: now / 1000 })).toBe("2026-11-21T09:30:15Z");
  });

  test("keeps the changes of earlier edits", async () => {
    const platform = start();
    const { catalog } = platform;
    const id = catalog.idAt(3);
    catalog.touch(id, { variants: { 1: { price: "1.00" } } });
    catalog.touch(id, { variants: { 1: { sku: "S" }, 2: { sku: null } }, inventoryItems: { 1: { tracked: false } } });
    const { data } = await queryProduct(platform, id);
    const changed = { price: "1.00", sku: "S", updatedAt: "2026-11-21T09:30:16Z", inventoryItem: { tracked: false } };
    expect(dig(data, "product.variants.nodes")).toMatchObject([changed, { sku: null }, {}, {}]);
  });

  test("can add and remove variants without changing the others", async () => {
    const platform = start();
    const { catalog } = platform;
    const id = catalog.idAt(5);
    const titles = async () => {
      const { data } = await queryProduct(platform, id);
      return digList(data, "product.variants.nodes").map((variant) => digText(variant, "title"));
    };
    const before = await titles();
    catalog.touch(id, { shape: { variants: 6 } });
    const more = await titles();
    expect(more.slice(0, 4)).toEqual(before);
    expect(new Set(more).size).toBe(6);
    catalog.touch(id, { shape: { variants: 2 } });
    expect(await titles()).toEqual(before.slice(0, 2));
  });
});

describe("the platform's habits", () => {
  const startBusy = () => {
    const clock = { nowMs: now };
    const busy = start({ products: 20, variants: 2, sharesSeconds: true, now: () => clock.nowMs });
    const titleOf = async (id: string) => dig((await queryProduct(busy, id)).data, "product.title");
    return { busy, clock, titleOf };
  };

  test("several edits within one second have the same updatedAt when seconds are shared", async () => {
    const { busy, titleOf } = startBusy();
    const id = busy.catalog.idAt(0);
    const times = ["a", "b", "c", "d"].map((title) => busy.catalog.touch(id, { product: { title } }));
    expect(new Set(times)).toEqual(new Set(["2026-11-21T09:30:15Z"]));
    expect(await titleOf(id)).toBe("d");
  });

  test("children can be updated later than their product, without another updatedAt", async () => {
    const { busy, clock } = startBusy();
    const [soon, late] = [busy.catalog.idAt(1), busy.catalog.idAt(2)];
    const changes = { product: { title: "Parent" }, variants: { 1: { sku: "CHILD" } } };
    const read = async (id: string) => dig((await queryProduct(busy, id)).data, "product");
    const lateAt = busy.catalog.touch(late, changes, { childrenAfterMs: 3_600_000 });
    expect(await read(late)).toMatchObject({ title: "Parent", updatedAt: lateAt });
    expect(dig(await read(late), "variants.nodes.0.sku")).not.toBe("CHILD");
    const soonAt = busy.catalog.touch(soon, changes, { childrenAfterMs: 100 });
    clock.nowMs += 5000;
    while (dig(await read(soon), "variants.nodes.0.sku") !== "CHILD") await Bun.sleep(50);
    expect(await read(soon)).toMatchObject({ title: "Parent", updatedAt: soonAt });
  });

  test("reads of a product can lag behind its edits, its removal, and its addition", async () => {
    const { busy, clock, titleOf } = startBusy();
    const [edited, removed] = [busy.catalog.idAt(2), busy.catalog.idAt(3)];
    const before = [await titleOf(edited), await titleOf(removed)];
    busy.catalog.touch(edited, { product: { title: "Edited" } });
    busy.catalog.remove(removed);
    const added = busy.catalog.add({ product: { title: "Added" } });
    const control = { method: "POST", body: JSON.stringify({ do: "lag", lagMs: 5000, probability: 1 }) };
    expect((await fetch(busy.controlUrl, control)).status).toBe(200);
    const readAll = async () => [await titleOf(edited), await titleOf(removed), await titleOf(added)];
    expect(await readAll()).toEqual([...before, undefined]);
    const list = "{ products(first: 3, sortKey: UPDATED_AT, reverse: true) { nodes { title legacyResourceId } } }";
    const listed = async () => JSON.stringify((await sendQuery(busy, list)).data);
    expect(await listed()).toMatch(/"Added".*"Edited"/);
    busy.lag.change({ lists: true });
    expect(await listed()).not.toMatch(/"Added"|"Edited"/);
    clock.nowMs += 5000;
    expect(await readAll()).toEqual(["Edited", undefined, "Added"]);
    expect(await listed()).toMatch(/"Added".*"Edited"/);
    expect(await listed()).not.toContain(removed);
    busy.lag.change({ probability: 0, lists: false });
  });

  test("deletions are listed in their order, by both of its lists", async () => {
    const { busy, clock } = startBusy();
    const [first, second] = [busy.catalog.idAt(4), busy.catalog.idAt(5)];
    clock.nowMs += 60_000;
    busy.catalog.remove(first);
    clock.nowMs += 60_000;
    busy.catalog.remove(second);
    const text = `query ($deletions: String, $events: String) {
      deletionEvents(first: 1, query: $deletions, sortKey: CREATED_AT, subjectTypes: [PRODUCT]) {
        nodes { occurredAt subjectId subjectType } pageInfo { hasNextPage }
      }
      events(first: 5, query: $events, sortKey: CREATED_AT) {
        nodes { action createdAt ... on BasicEvent { subjectId subjectType } }
      }
    }`;
    const since = new Date(clock.nowMs - 60_000).toISOString();
    const { data, errors } = await sendQuery(busy, text, {
      deletions: `occurred_at:>='${since}'`,
      events: `subject_type:PRODUCT action:destroy created_at:>'${since}'`,
    });
    expect(errors).toBeUndefined();
    const gidOf = (id: string) => `gid://shopify/Product/${id}`;
    const timeOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
    expect(dig(data, "deletionEvents")).toEqual({
      nodes: [{ occurredAt: timeOf(clock.nowMs - 60_000), subjectId: gidOf(first), subjectType: "PRODUCT" }],
      pageInfo: { hasNextPage: true },
    });
    expect(dig(data, "events.nodes")).toEqual([
      { action: "destroy", createdAt: timeOf(clock.nowMs), subjectId: gidOf(second), subjectType: "PRODUCT" },
    ]);
  });
});
