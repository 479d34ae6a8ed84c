import { afterAll, afterEach, expect, test } from "bun:test";
import { startStandIn } from "../src/stand-in.ts";
import { digText, finishRun, readLines } from "./client.ts";
import { bulkInner } from "./documents.ts";

const platform = startStandIn({ products: 5, bulk: { createdMs: 0, runningMs: 0, cancelingMs: 0 } });
afterAll(() => platform.stop());
afterEach(() => platform.fields.change({}));

test("an unknown field is refused", () => {
  expect(() => platform.fields.change({ denied: ["Product.colour"] })).toThrow(
    'the schema has no field "Product.colour"',
  );
});

test("a repeated bulk run has lines twice, and counts them once", async () => {
  platform.faults.add({ kind: "bulkRepeated" });
  const run = await finishRun(platform, bulkInner());
  const lines = await readLines(digText(run, "url"));
  const objects = Number(digText(run, "objectCount"));
  expect(lines.length).toBeGreaterThan(objects);
  expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(objects);
});
