import { toSentence } from "../base/format.ts";
import { countStoredProducts } from "../catalog/product.ts";
import type { PushState } from "../catalog/push/state.ts";
import type { PurgeStatus } from "../cdn/position.ts";
import { readNow } from "../database/database.ts";
import { findClockProblem } from "../jobs/clock.ts";
import type { JobHealth } from "../jobs/run.ts";
import { type Generation, listGenerations } from "../personalization/generation.ts";
import type { ConsoleContext } from "./context.ts";
import { listProblems, listPurgeProblems, listPushProblems, type Problem } from "./problems.ts";

/** The overview shows all of it; the title and the icon of every page show the number of problems. */
export interface ServiceState {
  readonly now: number;
  readonly productCount: number;
  readonly generations: readonly Generation[];
  /** Only configured jobs. */
  readonly jobs: readonly JobHealth[];
  readonly push: PushState | undefined;
  /** Empty when this service does not purge a CDN. */
  readonly purge: readonly PurgeStatus[];
  readonly problems: readonly Problem[];
}

export async function readServiceState(context: ConsoleContext): Promise<ServiceState> {
  const { database, writeProblem, jobs: readJobs, push: readPush, purge: readPurge } = context;
  const [instant, clock, productCount, generations, jobs, push, purge = []] = await Promise.all([
    readNow(database),
    findClockProblem(database),
    countStoredProducts(database),
    listGenerations(database),
    readJobs(),
    readPush?.(),
    readPurge?.(),
  ]);
  const now = Date.parse(instant);
  const refusal = writeProblem();
  const brands = generations.map(({ brand }) => brand);
  const problems = [
    ...(refusal === undefined
      ? []
      : [{ text: `The store accepts no writes or is damaged, so jobs fail: ${refusal}.` }]),
    // A job with a run in the future reports this already.
    ...(clock === undefined || jobs.some(({ isAhead }) => isAhead) ? [] : [{ text: toSentence(clock) }]),
    ...(push === undefined ? [] : listPushProblems(push, now)),
    ...listPurgeProblems(purge, now),
    ...listProblems(jobs, brands, productCount, now),
  ];
  return { now, productCount, generations, jobs, push, purge, problems };
}
