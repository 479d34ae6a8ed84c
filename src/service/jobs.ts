import { type CatalogImportOptions, catalogImport } from "../catalog/import.ts";
import { catalogReconcile } from "../catalog/reconcile.ts";
import { catalogSync } from "../catalog/sync.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf, type PersonalizationOptions } from "../config/jobs.ts";
import { hideCredentials } from "../credentials.ts";
import type { Job, PlannedJob } from "../jobs/job.ts";
import { toPlan } from "../jobs/plan.ts";
import { historyRetention } from "../jobs/retention.ts";
import type { Log } from "../log.ts";
import { type ImportMode, personalizationImport, personalizationImportName } from "../personalization/import.ts";
import { connectPlatform } from "../platforms/shopify/connection.ts";

export function catalogImportJob(files: readonly string[], options: CatalogImportOptions, brand: string): Job {
  return {
    name: "catalog-import",
    brand,
    source: hideCredentials(files.join(", ")),
    work: catalogImport(files, options),
  };
}

export function personalizationImportJob(
  options: PersonalizationOptions,
  config: Config,
  brand: string,
  mode: ImportMode,
): Job {
  const work = personalizationImport(options, config, mode);
  return { name: personalizationImportName, brand, source: hideCredentials(options.source), work };
}

const bySchedule: ImportMode = { isByHand: false, isForced: false };

/** The jobs that the settings configure, in the order in which a new store wants them. */
export function listJobs(config: Config, log: Log): PlannedJob[] {
  const {
    "catalog-import": catalog,
    "personalization-import": feeds = [],
    "history-retention": retention,
  } = config.jobs;
  const brandOf = (options: { brand?: string | undefined }) => options.brand ?? config.brand;
  const importJobOf = ({ source, max_removed_share, ...options }: NonNullable<typeof catalog>) =>
    catalogImportJob(source, { visible: config.visible, maxRemovedShare: max_removed_share }, brandOf(options));
  return [
    ...(catalog ? [{ ...importJobOf(catalog), plan: toPlan(catalog) }] : []),
    ...listPlatformJobs(config, brandOf, log),
    ...feeds.map((feed) => ({
      ...personalizationImportJob(feed, config, brandOf(feed), bySchedule),
      plan: toPlan(feed),
    })),
    ...(retention
      ? [
          {
            name: "history-retention",
            brand: brandOf(retention),
            source: `runs older than ${retention.keep_days} days`,
            work: historyRetention(retention.keep_days),
            plan: toPlan(retention),
          },
        ]
      : []),
  ];
}

function listPlatformJobs(
  config: Config,
  brandOf: (options: { brand?: string | undefined }) => string,
  log: Log,
): PlannedJob[] {
  const request = connectPlatform(config, log);
  if (request === undefined) return [];
  const maxRemovedShare = maxRemovedShareOf(config);
  const source = hideCredentials(config.shopifyApiUrl) || config.shopDomain;
  const { "catalog-reconcile": reconcile, "catalog-sync": sync } = config.jobs;
  return [
    ...(reconcile
      ? [
          {
            name: "catalog-reconcile",
            brand: brandOf(reconcile),
            source,
            work: catalogReconcile(request, { maxRemovedShare, visible: config.visible }, log),
            plan: toPlan(reconcile),
          },
        ]
      : []),
    ...(sync
      ? [
          {
            name: "catalog-sync",
            brand: brandOf(sync),
            source,
            work: catalogSync(request, maxRemovedShare),
            plan: toPlan(sync),
          },
        ]
      : []),
  ];
}
