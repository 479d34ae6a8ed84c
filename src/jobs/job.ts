import type { Plan } from "./plan.ts";
import type { Work } from "./work.ts";

/** Work that is run for a brand. */
export interface Job {
  readonly name: string;
  readonly brand: string;
  /** The data that the job reads, for display. */
  readonly source: string;
  /** Throws if the data cannot be reached. Reads none of it. Undefined if it is in the store. */
  readonly checkSource?: (signal: AbortSignal) => Promise<unknown>;
  /**
   * Whether it replaces data with that of a source: it can be tried in a dry run, and forced past its
   * checks.
   */
  readonly isImport?: boolean;
  readonly work: Work;
}

/** A job from the settings. */
export type PlannedJob = Job & { readonly plan: Plan };
