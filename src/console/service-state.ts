import { toSentence } from "../base/format.ts";
import { countStoredProducts } from "../catalog/product.ts";
import { readNow } from "../database/database.ts";
import { findClockProblem } from "../jobs/clock.ts";
import { listGenerations } from "../personalization/generation.ts";
import type { ConsoleContext } from "./context.ts";
import { listProblems, listPurgeProblems, listPushProblems, type Problem } from "./problems.ts";

/** The overview shows all of it; the title and the icon of every page show the number of problems. */
export async function readServiceState(context: ConsoleContext) {
  const { database, writeProblem } = context;
  const [instant, clock, productCount, generations, jobs, push, purge = []] = await Promise.all([
    readNow(database),
    findClockProblem(database),
    countStoredProducts(database),
    listGenerations(database),
    context.jobs(),
    context.push?.(),
    context.purge?.(),
  ]);
  const now = Date.parse(instant);
  const refusal = writeProblem();
  const brands = generations.map(({ brand }) => brand);
  const problems: Problem[] = [];
  if (refusal !== undefined) {
    problems.push({ text: `The store accepts no writes or is damaged, so jobs fail: ${refusal}.` });
  }
  // A job with a run in the future reports this already.
  if (clock !== undefined && !jobs.some(({ isAhead }) => isAhead)) problems.push({ text: toSentence(clock) });
  if (push !== undefined) problems.push(...listPushProblems(push, now));
  problems.push(...listPurgeProblems(purge, now), ...listProblems(jobs, brands, productCount, now));
  return { now, productCount, generations, jobs, push, purge, problems };
}
