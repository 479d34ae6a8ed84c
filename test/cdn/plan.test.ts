import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fail } from "../../src/cdn/failure.ts";
import { fingerprintTag } from "../../src/cdn/headers.ts";
import { secondPurgeS } from "../../src/cdn/plan.ts";
import type { PurgeState } from "../../src/cdn/position.ts";
import { PurgeError } from "../../src/cdn/send.ts";
import type { PurgeTarget } from "../../src/cdn/targets.ts";
import { keptChanges } from "../../src/database/change.ts";
import { at, createPurged, createWorld, target } from "./world.ts";

const everything = ["product", "personalization"];

describe("a purge", () => {
  test("begins with everything, twice", () => {
    const world = createWorld(target());
    world.addProduct("1");
    world.step();
    expect(world.take()).toEqual([everything]);
    world.step();
    world.nowMs += secondPurgeS * 1000 - 1;
    world.step();
    expect(world.take()).toEqual([]);
    world.nowMs += 1;
    world.step();
    expect(world.take()).toEqual([everything]);
    world.nowMs += 3_600_000;
    expect(world.plan()).toBe(undefined);
  });

  test("covers changes once for each tag, and again later", () => {
    const world = createPurged(target());
    world.addProduct("1");
    world.addProduct("2");
    world.addProduct("1");
    world.addFingerprints(7, 8);
    world.step();
    const tags = ["product-1", "product-2", fingerprintTag(7), fingerprintTag(8)];
    expect(world.take()).toEqual([tags]);
    world.nowMs += 2000;
    world.addProduct("3");
    world.step();
    expect(world.take()).toEqual([["product-3"]]);
    world.nowMs += 3000;
    world.step();
    expect(world.take()).toEqual([tags]);
    world.nowMs += 2000;
    world.step();
    expect(world.take()).toEqual([["product-3"]]);
    expect(world.state?.marks).toEqual([]);
  });

  test("is split by the provider's limits", () => {
    const world = createPurged(target({ maxTags: 2, maxBytes: 30 }));
    for (const id of ["1", "2", "3", "1234567890", "4"]) world.addProduct(id);
    world.step();
    expect(world.take()).toEqual([["product-1", "product-2"], ["product-3"], ["product-1234567890"], ["product-4"]]);
  });

  test.each([
    ["the store was restored from a backup", (world: { newest: number }) => (world.newest -= 1)],
    ["changes were deleted from the log", (world: { newest: number }) => (world.newest += keptChanges)],
    ["a standby was promoted", (world: { history: string }) => (world.history = "2")],
  ])("covers everything after %s", (_, change) => {
    const world = createPurged(target());
    world.addProduct("1");
    world.step();
    world.take();
    change(world);
    world.step();
    expect(world.take()).toEqual([everything]);
    world.nowMs += secondPurgeS * 1000;
    world.step();
    expect(world.take()).toEqual([everything]);
    expect(world.plan()).toBe(undefined);
  });

  test("covers everything for the second time if the changes were deleted from the log meanwhile", () => {
    const world = createPurged(target());
    world.addProduct("1");
    world.step();
    world.take();
    // The first of these changes is the oldest one that the log still has.
    world.newest += keptChanges - 1;
    world.nowMs += secondPurgeS * 1000;
    world.step();
    expect(world.take()).toEqual([everything]);
  });

  test("of one change with more tags than a request is sent after a failure, too", () => {
    const world = createPurged(target({ maxTags: 1 }));
    world.addFingerprints(7, 8, 9);
    world.state = fail(world.state as PurgeState, new PurgeError("unreachable"), at(world.nowMs), 0);
    world.step();
    expect(world.take()).toEqual([[fingerprintTag(7)], [fingerprintTag(8)], [fingerprintTag(9)]]);
  });

  test("covers everything for another form of responses", () => {
    const world = createPurged(target());
    world.step("b");
    expect(world.take()).toEqual([everything]);
  });

  test("is due at once after the clock was set back", () => {
    const world = createPurged(target());
    world.addProduct("1");
    world.step();
    world.nowMs -= 60_000;
    world.take();
    world.step();
    expect(world.take()).toEqual([["product-1"]]);
  });
});

describe("the budget", () => {
  const budget = { unit: "request", burst: 10, perSecond: 1 } as const;

  test("is waited for if it carries the changes soon", () => {
    const world = createPurged(target({ budget, maxTags: 1 }));
    for (let id = 1; id <= 12; id++) world.addProduct(`${id}`);
    world.step();
    expect(world.take()).toHaveLength(9);
    world.step();
    expect(world.take()).toEqual([]);
    world.nowMs += 3000;
    world.step();
    expect(world.take()).toEqual([["product-10"], ["product-11"], ["product-12"]]);
  });

  test("recovers after the clock was set back", () => {
    const world = createPurged(target({ budget, maxTags: 1 }));
    for (let id = 1; id <= 9; id++) world.addProduct(`${id}`);
    world.step();
    world.addProduct("10");
    world.step();
    expect(world.take()).toHaveLength(9);
    world.nowMs -= 3_600_000;
    for (let second = 0; second < 3; second++) {
      world.nowMs += 1000;
      world.step();
    }
    expect(world.take()).toContainEqual(["product-10"]);
  });

  test("turns what it can't carry into a purge of one kind, and keeps the other exact", () => {
    const world = createPurged(target({ budget, maxTags: 1 }));
    world.addFingerprints(7);
    for (let id = 1; id <= 100; id++) world.addProduct(`${id}`);
    world.step();
    expect(world.take()).toEqual([[fingerprintTag(7)], ["product"]]);
    world.addFingerprints(...Array.from({ length: 100 }, (_, index) => index));
    world.nowMs += 1;
    world.step();
    expect(world.take()).toEqual([["personalization"]]);
  });

  test("is found to carry some of many changes without reading each of them many times", () => {
    const world = createPurged(target({ budget: { unit: "request", burst: 500, perSecond: 50 }, maxTags: 1 }));
    let reads = 0;
    for (let id = 1; id <= 600; id++) {
      world.log.push({
        number: ++world.newest,
        noun: "product",
        get key() {
          reads++;
          return `${id}`;
        },
      });
    }
    world.step();
    expect(world.take()).toHaveLength(450);
    expect(reads / 600).toBeLessThan(6);
  });

  test("is never exceeded, and nothing is forgotten, whatever happens", () => {
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("products" as const), count: fc.nat(30) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("fingerprints" as const), count: fc.nat(200) }) },
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("time" as const), count: fc.nat(4000) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("kill" as const), count: fc.constant(0) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("failure" as const), count: fc.nat(3) }) },
    );
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 60 }),
        fc.constantFrom<PurgeTarget["budget"]>(undefined, budget, { unit: "tag", burst: 60, perSecond: 5 }),
        (events, ofTarget) => {
          const of = target({ budget: ofTarget, maxTags: 4 });
          const world = createWorld(of);
          const changes = everything.map((kind) => ({ tag: kind, kind, atMs: 0 }));
          let next = 0;
          for (const { kind, count } of events) {
            const { nowMs: atMs } = world;
            if (kind === "products") {
              for (let each = 0; each < count; each++) {
                world.addProduct(`${next % 50}`);
                changes.push({ tag: `product-${next++ % 50}`, kind: "product", atMs });
              }
            } else if (kind === "fingerprints") {
              const found = Array.from({ length: count }, () => next++ % 300);
              world.addFingerprints(...found);
              for (const each of found) changes.push({ tag: fingerprintTag(each), kind: "personalization", atMs });
            } else if (kind === "time") world.nowMs += count;
            else if (kind === "kill") world.step("a", true);
            else {
              const failed = world.plan();
              if (failed) world.state = fail(failed.reserved, new PurgeError("no"), at(world.nowMs), 0);
            }
            world.step();
          }
          for (let time = 0; time < 300; time++) {
            world.nowMs += 500;
            world.step();
          }
          expect(world.plan()).toBe(undefined);
          for (const { tag, kind, atMs } of changes) {
            const purges = world.sent.filter(
              (sent) => sent.atMs >= atMs && (sent.tags.includes(tag) || sent.tags.includes(kind)),
            );
            expect([tag, purges.length > 0]).toEqual([tag, true]);
            const last = purges.at(-1);
            expect([tag, (last?.atMs ?? 0) - atMs >= secondPurgeS * 1000]).toEqual([tag, true]);
          }
          if (ofTarget === undefined) return;
          let [left, leftMs] = [ofTarget.burst, 0];
          for (const { atMs, tags } of world.sent) {
            left = Math.min(ofTarget.burst, left + ((atMs - leftMs) / 1000) * ofTarget.perSecond);
            leftMs = atMs;
            left -= ofTarget.unit === "tag" ? tags.length : 1;
            expect(left).toBeGreaterThanOrEqual(0);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
