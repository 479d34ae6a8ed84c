import type { Ids } from "./ids.ts";
import type { ProductPlan } from "./plan.ts";
import type { Random } from "./random.ts";

/** What the parts of one product share while it is made. */
export interface Making {
  readonly plan: ProductPlan;
  readonly productId: number;
  readonly handle: string;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Written by the ERP's old editor: named entities, plain types. */
  readonly old: boolean;
  readonly random: Random;
  readonly ids: Ids;
  readonly nextNumber: () => number;
}
