import { describe, expect, test } from "bun:test";
import { StoreHistory } from "../../proof/store-history.ts";

describe("what the store held", () => {
  test("tells how old a response is, also after an earlier version has returned", () => {
    const history = new StoreHistory();
    history.note("a", "v1", 0);
    history.note("a", "v2", 1000);
    expect(history.oldForMs("a", "v1", 900)).toBe(0);
    expect(history.oldForMs("a", "v1", 3000)).toBe(2000);
    expect(history.oldForMs("a", "v2", 3000)).toBe(0);
    history.note("a", "v1", 4000);
    expect(history.oldForMs("a", "v1", 9000)).toBe(0);
    expect(history.oldForMs("a", "v2", 9000)).toBe(5000);
    expect(history.oldForMs("a", "v3", 9000)).toBeUndefined();
  });

  test("judges a response of a version that is seen later when it is known", () => {
    const history = new StoreHistory();
    history.note("a", "v1", 0);
    const old: [string, number][] = [];
    const check = (version: string, sentMs: number) =>
      history.check({ item: "a", version, sentMs, doubted: (oldForMs) => old.push([version, oldForMs]) });
    check("v2", 500);
    history.note("a", "v2", 600);
    history.note("a", "v3", 2000);
    check("v2", 3500);
    check("v3", 3500);
    check("v9", 3500);
    expect(history.settleDoubts()).toBe(1);
    expect(old).toEqual([["v2", 1500]]);
    expect(history.settleDoubts()).toBe(0);
  });
});
