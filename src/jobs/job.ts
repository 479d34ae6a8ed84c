import type { Plan } from "./plan.ts";
import type { Work } from "./work.ts";

export interface Job {
  readonly name: string;
  readonly brand: string;
  /** For display. */
  readonly source: string;
  /** Throws if the data cannot be reached, without reading it. Undefined if it is in the store. */
  readonly checkSource?: (signal: AbortSignal) => Promise<unknown>;
  /** Whether it replaces data with a source's: it supports dry runs and forced runs. */
  readonly isImport?: boolean;
  readonly work: Work;
}

export type PlannedJob = Job & { readonly plan: Plan };
