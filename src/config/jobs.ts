import { z } from "zod";
import {
  catalogImportSchema,
  catalogReconcileSchema,
  catalogSyncSchema,
  defaultRemovedShare,
} from "../catalog/options.ts";
import { retentionSchema } from "../jobs/options.ts";
import { personalizationImportSchema } from "../personalization/options.ts";
import { presentationImportSchema } from "../personalization/presentation/options.ts";

/** The schemas of the options, by the name of the job. */
export const jobSchemas = {
  "catalog-import": catalogImportSchema,
  "personalization-import": personalizationImportSchema,
  "presentation-import": presentationImportSchema,
  "catalog-reconcile": catalogReconcileSchema,
  "catalog-sync": catalogSyncSchema,
  "history-retention": retentionSchema,
};

export type JobName = keyof typeof jobSchemas;

/** The options in one table of a job. */
export type JobOptionsOf<Name extends JobName> = z.infer<(typeof jobSchemas)[Name]>;

export const jobsSchema = z
  .strictObject({
    ...jobSchemas,
    "personalization-import": z.array(personalizationImportSchema),
    "presentation-import": z.array(presentationImportSchema),
  })
  .partial();

/** The tables `[jobs.NAME]`; each job of `jobsOfBrands` has a list, with one table for each brand. */
export type JobOptions = z.infer<typeof jobsSchema>;

/**
 * Returns the share of the stored products, from 0 to 1, that may be removed: within 24 hours because
 * the platform no longer has them, or by an import of product files.
 */
export const maxRemovedShareOf = (
  { jobs }: { readonly jobs: JobOptions },
  job: "catalog-reconcile" | "catalog-import" = "catalog-reconcile",
): number => jobs[job]?.max_removed_share ?? defaultRemovedShare;
