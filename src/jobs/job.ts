import type { Plan } from "./plan.ts";
import type { Work } from "./work.ts";

/** What is run, for a brand. */
export interface Job {
  readonly name: string;
  readonly brand: string;
  /** What it reads, for people. */
  readonly source: string;
  readonly work: Work;
}

/** One that the settings configure. */
export type PlannedJob = Job & { readonly plan: Plan };
