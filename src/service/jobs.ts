import { type CatalogImportOptions, catalogImport } from "../catalog/import.ts";
import { catalogReconcile } from "../catalog/reconcile.ts";
import { catalogSync } from "../catalog/sync.ts";
import type { Config } from "../config/index.ts";
import {
  type JobName,
  type JobOptionsOf,
  maxRemovedShareOf,
  type PersonalizationOptions,
  type PlanOptions,
} from "../config/jobs.ts";
import { hideCredentials } from "../credentials.ts";
import { checkFeed } from "../feed/delivery.ts";
import { checkFile } from "../feed/file.ts";
import type { Job, PlannedJob } from "../jobs/job.ts";
import { toPlan } from "../jobs/plan.ts";
import { historyRetention } from "../jobs/retention.ts";
import type { Log } from "../log.ts";
import { toFeedRequest } from "../personalization/feed.ts";
import { type ImportMode, personalizationImport, personalizationImportName } from "../personalization/import.ts";
import { createPlatform } from "../platforms/index.ts";
import type { Platform } from "../platforms/platform.ts";

interface JobContext {
  readonly config: Config;
  readonly log: Log;
  readonly brand: string;
  /** Undefined unless the settings connect a shop. */
  readonly platform: Platform | undefined;
}

type JobFactory<Options> = (options: Options, context: JobContext) => Job | undefined;

const scheduledMode: ImportMode = { isManual: false, isForced: false };

/** Every job, in the order of their first runs. Its options are in `config/jobs.ts`. */
const factories: { readonly [Name in JobName]: JobFactory<JobOptionsOf<Name>> } = {
  "catalog-import": ({ source, max_removed_share: maxRemovedShare }, { config: { visible }, brand }) =>
    catalogImportJob(source, { visible, maxRemovedShare, isForced: false }, brand),
  "catalog-reconcile": (_, { config, log, brand, platform }) =>
    platform && {
      name: "catalog-reconcile",
      brand,
      source: platform.source,
      checkSource: (signal) => platform.readShop(signal),
      work: catalogReconcile(platform, { maxRemovedShare: maxRemovedShareOf(config), visible: config.visible }, log),
    },
  "catalog-sync": (_, { config, brand, platform }) =>
    platform && {
      name: "catalog-sync",
      brand,
      source: platform.source,
      checkSource: (signal) => platform.readShop(signal),
      work: catalogSync(platform, maxRemovedShareOf(config)),
    },
  "personalization-import": (options, { config, brand }) =>
    personalizationImportJob(options, config, brand, scheduledMode),
  "history-retention": ({ keep_days: keepDays }, { brand }) => ({
    name: "history-retention",
    brand,
    source: `runs older than ${keepDays} days`,
    work: historyRetention(keepDays),
  }),
};

/** Lists the configured jobs, in the order of their first runs. */
export function listJobs(config: Config, log: Log): PlannedJob[] {
  const platform = createPlatform(config, log);
  return Object.entries(factories).flatMap(([name, factory]) => {
    const tables: PlanOptions[] = [config.jobs[name as JobName] ?? []].flat();
    return tables.flatMap((options) => {
      const context = { config, log, brand: options.brand ?? config.brand, platform };
      const job = (factory as JobFactory<PlanOptions>)(options, context);
      return job === undefined ? [] : [{ ...job, plan: toPlan(options) }];
    });
  });
}

export function catalogImportJob(files: readonly string[], options: CatalogImportOptions, brand: string): Job {
  const source = hideCredentials(files.join(", "));
  const checkSource = () => Promise.all(files.map(checkFile));
  return { name: "catalog-import", brand, source, checkSource, work: catalogImport(files, options) };
}

export function personalizationImportJob(
  options: PersonalizationOptions,
  config: Config,
  brand: string,
  mode: ImportMode,
): Job {
  const source = hideCredentials(options.source);
  const checkSource = (signal: AbortSignal) => checkFeed(toFeedRequest(options), config, signal);
  const work = personalizationImport(options, config, mode);
  return { name: personalizationImportName, brand, source, checkSource, work };
}
