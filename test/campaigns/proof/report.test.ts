import { expect, test } from "bun:test";
import { groupByStep, type Proof, renderReport, type Step } from "../../proof/report.tsx";

const steps: Step[] = [
  { name: "first", isWithoutDatabase: false, fromMs: 1000, repairedMs: 2000, wholeMs: 2500 },
  { name: "second", isWithoutDatabase: true, fromMs: 4000, repairedMs: 5500, wholeMs: 6000 },
];
const problem = (atMs: number) => ({ atMs, what: `at ${atMs}` });

test("a problem belongs to the fault that began last before it", () => {
  const groups = groupByStep([999, 1000, 3999, 4000, 9000].map(problem), steps);
  expect(groups.map((group) => group.map(({ atMs }) => atMs))).toEqual([[1000, 3999], [4000, 9000], [999]]);
});

test("the report counts what it was given", () => {
  const second = { requests: 10, failed: 0, aged: 1, old: 0, longestMs: 20 };
  const proof: Proof = {
    ...{ startedAt: "2026-11-23T10:00:00.000Z", command: "npm run proof", machine: "a test", parts: ["a part"] },
    ...{ seconds: Array.from({ length: 8 }, () => second), steps },
    failures: [999, 1500, 1600].map(problem),
    refused: 5,
    old: [4500].map(problem),
    mixed: [1, 2, 3, 4].map(problem),
    incorrect: [1, 2, 3, 4, 5].map(problem),
    ...{
      hidden: 9,
      defects: 6,
      runs: [],
      lostTicks: ["a", "b"],
      ticks: 90,
      wrong: ["c"],
      checked: 1500,
      edits: 7,
      repeated: 3,
      hitRatio: 0.59,
    },
  };
  const page = renderReport(proof);
  const totals = [...page.matchAll(/<li class="(good|bad)"><strong>([\d,]+)<\/strong> (.*?)<\/li>/g)];
  expect(totals.map(([, kind, count, what]) => `${kind} ${count} ${what}`)).toEqual([
    "bad 3 of 80 requests failed",
    "bad 1 responses older than a second without Age",
    "bad 2 of 90 scheduled times lost",
    "bad 4 responses of two versions",
    "bad 5 incorrect responses",
    "bad 6 responses of replicas with a failure other than 503",
    "bad 1 of 1,500 products and SKUs wrong at the end",
  ]);
  const rows = [...page.matchAll(/<th scope="row">(\w+)<\/th>(.*?)<\/tr>/gs)].map(([, name, cells = ""]) => [
    name,
    ...[...cells.matchAll(/<td[^>]*>(.*?)<\/td>/g)].map(([, text]) => text),
  ]);
  expect(rows).toEqual([
    ["first", "0:01", "1.0 s", "0.5 s", "30", "2", "0", "3", "0.0 s"],
    ["second", "0:04", "1.5 s", "0.5 s", "40", "0", "1", "4", "0.0 s"],
  ]);
  expect(page).toContain("Between the faults: 1 failed, 0 old without Age.");
  expect(renderReport({ ...proof, failures: [] })).toContain(
    '<li class="good"><strong>0</strong> of 80 requests failed',
  );
});
