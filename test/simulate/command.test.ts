import { expect, test } from "bun:test";
import { join } from "node:path";
import { costs } from "../../bench/simulate/costs.ts";
import { predict } from "../../bench/simulate/fleet.ts";
import { describeUsage, parameters, parseArguments, toFleet, UsageError } from "../../bench/simulate/parameters.ts";
import { describePrediction, timeText } from "../../bench/simulate/report.ts";
import { root } from "../support/pds.ts";

const parse = (args: readonly string[], file = "") => parseArguments(args, async () => file);

test("flags take precedence over the file, and the file over defaults", async () => {
  const { fleet } = await parse(["shop.toml", "--skus", "10"], "skus = 20\nproducts = 30");
  expect([fleet.skus, fleet.products, fleet.points_of_presence]).toEqual([10, 30, parameters.points_of_presence.value]);
});

test.each([
  [["--sku", "1"], "", '--sku is unknown; did you mean "--skus"?'],
  [["--unheard-of-thing"], "", "--unheard-of-thing is unknown; the options are --requests-per-second, "],
  [["--skus"], "", "--skus needs a value"],
  [["--skus", "many"], "", '--skus: expected a whole number from 1 to 1000000000, not "many"'],
  [["--skus", "1.5"], "", '--skus: expected a whole number from 1 to 1000000000, not "1.5"'],
  [["--cdn", "akamai"], "", "--cdn: expected one of none, varnish, fastly,"],
  [["--seconds", "0"], "", '--seconds: expected a number from 1 to 3600, not "0"'],
  [["--json=yes"], "", "--json takes no value"],
  [["a.toml", "b.toml"], "", "expected at most one scenario file"],
  [["a.toml"], "product = 5", 'a.toml: "product" is unknown; did you mean "products"?'],
  [["a.toml"], "skus = 0", "a.toml: skus: expected a whole number from 1 to 1000000000, not 0"],
  [["a.toml"], "skus = ", "a.toml: "],
  [["a.toml"], "skus = nan", "a.toml: skus: expected a whole number from 1 to 1000000000, not NaN"],
  [["--max-connections", "3"], "", "--max-connections: expected a whole number from 4 to 100000"],
])("%p with the file %p is refused", async (args, file, message) => {
  const error = await parse(args, file).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as Error).message).toStartWith(message);
});

test("a file that cannot be read is refused with the reason", async () => {
  const error = await parseArguments(["missing.toml"], (path) => Bun.file(path).text()).catch((reason) => reason);
  expect(error).toBeInstanceOf(UsageError);
  expect(error.message).toBe("missing.toml: cannot be read: ENOENT: no such file or directory, open 'missing.toml'");
});

test("the help lists each option with its default", () => {
  const help = describeUsage();
  for (const [name, { value }] of Object.entries(parameters)) {
    expect(help).toContain(`  --${name.replaceAll("_", "-")} ${value} `);
  }
  expect(help).toContain("  --measure ");
});

test("the prediction of a small fleet names one machine", () => {
  expect(describePrediction(predict(toFleet({ cdn: "none" }), costs))).toContain("2 on 1 machine;");
});

test("the command prints what the model predicts", async () => {
  const args = ["--requests-per-second", "5000", "--skus", "5000", "--products", "500"];
  const { fleet } = await parse(args);
  const prediction = predict(fleet, costs);
  const runCommand = async (...more: string[]) => {
    const command = [process.execPath, join(root, "bench", "simulate.ts"), ...args, ...more];
    const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { output, errors, code: await child.exited };
  };
  expect(await runCommand()).toEqual({ output: `${describePrediction(prediction)}\n`, errors: "", code: 0 });
  expect(JSON.parse((await runCommand("--json")).output)).toEqual(JSON.parse(JSON.stringify(prediction)));
  expect(await runCommand("--cores")).toMatchObject({ output: "", code: 2 });
});

test.each([
  [0.0004, "0.4 ms"],
  [12, "12 s"],
  [1800, "30 min"],
  [86_400, "24 h"],
  [31_536_000, "365 days"],
  [Number.POSITIVE_INFINITY, "ever longer"],
])("%p seconds are %p", (seconds, text) => {
  expect(timeText(seconds)).toBe(text);
});
