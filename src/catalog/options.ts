import { z } from "zod";
import { planSchema, planShape, schedule } from "../jobs/options.ts";

/** Default share of the stored products, from 0 to 1, that may be removed. */
export const defaultRemovedShare = 0.2;

const removedShare = z.number().min(0).max(1).default(defaultRemovedShare);

export const catalogImportSchema = z.strictObject({
  source: z.array(z.string().min(1)).min(1).describe("Product files that together hold all products."),
  max_removed_share: removedShare.describe(
    "Maximum share of the stored products that a run may remove. Beyond it the run fails and changes nothing. Fewer than 20 products are not checked.",
  ),
  ...planShape,
});

export const catalogReconcileSchema = z.strictObject({
  max_removed_share: removedShare.describe(
    "Maximum share of the stored products that all jobs and requests together may remove within 24 hours, because the platform no longer has them. Five may always be removed, unless it is 0. Also the share that a run may find with fewer images than before.",
  ),
  ...planShape,
  // Off the hour, when most jobs of most shops run.
  schedule: schedule.default("17,47 * * * *"),
});

export const catalogSyncSchema = planSchema.extend({ schedule: schedule.default("*/5 * * * *") });
