import { join } from "node:path";
import { type Costs, costs } from "./simulate/costs.ts";
import { predict } from "./simulate/fleet.ts";
import { measureCosts } from "./simulate/measure.ts";
import { describeUsage, parseArguments, UsageError } from "./simulate/parameters.ts";
import { describeComparisons, describePrediction } from "./simulate/report.ts";
import { withRig } from "./simulate/rig.ts";
import { describeScale } from "./simulate/scale.ts";
import { type Comparison, products, skus, validate } from "./simulate/validate.ts";
import { print } from "./support/print.ts";

// Predicts what a fleet needs: `npm run simulate -- --help`. docs/explanation/scale.md describes the model.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const log = (line: string) => void process.stderr.write(`${line}\n`);

/** Measures costs, and compares the model with runs: with costs of the same minutes, if both are wanted. */
async function tryHere(isMeasured: boolean, isValidated: boolean, seconds: number): Promise<void> {
  const comparisons: Comparison[] = [];
  await withRig({ skus, products, workUs: isMeasured ? undefined : costs.workUs }, async (rig) => {
    let used: Costs = costs;
    if (isMeasured) {
      used = await measureCosts(rig, seconds, log);
      await Bun.write(join(import.meta.dir, "simulate", "costs.json"), `${JSON.stringify(used)}\n`);
    }
    if (!isValidated) return;
    await validate(rig, used, seconds, log, (more) => {
      comparisons.push(...more);
      log(describeComparisons(more));
    });
  });
  if (isValidated) print(describeComparisons(comparisons));
}

async function run(): Promise<void> {
  const { fleet, seconds, modes } = await parseArguments(process.argv.slice(2), (path) => Bun.file(path).text());
  if (modes.help) return print(describeUsage());
  if (modes.measure || modes.validate) return await tryHere(modes.measure === true, modes.validate === true, seconds);
  if (modes.charts) {
    const { charts, text } = describeScale(costs);
    for (const [name, svg] of Object.entries(charts)) await Bun.write(join(root, "docs", "images", name), svg);
    return print(text);
  }
  const prediction = predict(fleet, costs);
  print(modes.json ? JSON.stringify(prediction) : describePrediction(prediction));
}

try {
  await run();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  log(error.message);
  process.exitCode = 2;
}
