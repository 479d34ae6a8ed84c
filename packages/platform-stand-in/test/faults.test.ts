import { describe, expect, test } from "bun:test";
import { type Fault, Faults } from "../src/faults.ts";

describe("a fault is triggered", () => {
  const triggered = (fault: Fault, operations: readonly string[], seed = 1) => {
    const counts: string[] = [];
    const faulty = new Faults(seed, (kind) => counts.push(kind));
    faulty.add(fault);
    return operations.map((operation) => (faulty.trigger(operation).length > 0 ? "x" : "-")).join("");
  };
  const ten = Array.from({ length: 10 }, () => "ProductById");

  test("once by default", () => {
    expect(triggered({ kind: "reset" }, ten)).toBe("x---------");
  });

  test("count times, after skip requests", () => {
    expect(triggered({ kind: "reset", count: 3, skip: 2 }, ten)).toBe("--xxx-----");
  });

  test("only for its operations", () => {
    const operations = ["ProductById", "ProductVariantsPage", "ProductImagesPage", "ProductById"];
    expect(triggered({ kind: "reset", count: 9, operation: "ProductById" }, operations)).toBe("x--x");
    expect(triggered({ kind: "reset", count: 9, operation: "*Page" }, operations)).toBe("-xx-");
  });

  test("by probability, for the same requests with the same seed", () => {
    const many = Array.from({ length: 1_000 }, () => "ProductById");
    const run = triggered({ kind: "reset", probability: 0.2 }, many);
    expect(triggered({ kind: "reset", probability: 0.2 }, many)).toBe(run);
    expect(triggered({ kind: "reset", probability: 0.2 }, many, 2)).not.toBe(run);
    expect(run.replaceAll("-", "").length).toBeWithin(150, 250);
  });
});
