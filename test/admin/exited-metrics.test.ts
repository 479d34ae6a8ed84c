import { expect, test } from "bun:test";
import { ExitedMetrics } from "../../src/admin/exited-metrics.ts";
import type { ProcessMetrics } from "../../src/admin/metrics.ts";

const responses = (status: string, value: number) => ({ labels: { status }, value });
const metrics = (...values: ReturnType<typeof responses>[]) =>
  [
    { name: "responses_total", help: "Responses.", type: "counter", aggregator: "sum", values },
    { name: "cache_bytes", help: "Size.", type: "gauge", aggregator: "sum", values: [{ labels: {}, value: 5 }] },
  ] as unknown as ProcessMetrics;

test("processes that exited add up to the counters of one", async () => {
  const exited = new ExitedMetrics();
  expect(await exited.counts).toEqual([]);
  for (let process = 0; process < 1000; process++) exited.add(metrics(responses("200", 2), responses("404", 1)));
  exited.add(metrics(responses("503", 7)));
  const counts = (await exited.counts) as unknown as { name: string; values: unknown[] }[];
  expect(counts.map(({ name }) => name)).toEqual(["responses_total"]);
  expect(counts[0]?.values).toEqual([
    expect.objectContaining(responses("200", 2000)),
    expect.objectContaining(responses("404", 1000)),
    expect.objectContaining(responses("503", 7)),
  ]);
});
