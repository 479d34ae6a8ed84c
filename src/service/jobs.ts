import { hideCredentials } from "../base/credentials.ts";
import type { Log } from "../base/log.ts";
import type { CatalogImportOptions } from "../catalog/import.ts";
import type { Config } from "../config/index.ts";
import { type JobName, type JobOptionsOf, maxRemovedShareOf } from "../config/jobs.ts";
import type { FeedRequest } from "../feed/delivery.ts";
import type { Job, PlannedJob } from "../jobs/job.ts";
import type { PlanOptions } from "../jobs/options.ts";
import { toPlan } from "../jobs/plan.ts";
import { historyRetention } from "../jobs/retention.ts";
import type { Work } from "../jobs/work.ts";
import type { ImportMode } from "../personalization/import/import.ts";
import {
  type PersonalizationOptions,
  personalizationImportName,
  presentationImportName,
} from "../personalization/options.ts";
import type { PresentationOptions } from "../personalization/presentation/options.ts";
import type { Platform } from "../platforms/platform.ts";

interface JobContext {
  readonly config: Config;
  readonly log: Log;
  readonly brand: string;
  readonly isForced: boolean;
  readonly platform: Platform | undefined;
}

type JobFactory<Options> = (options: Options, context: JobContext) => Job | undefined;

/** In the order of first runs. */
const factories: { readonly [Name in JobName]: JobFactory<JobOptionsOf<Name>> } = {
  "catalog-import": ({ source, max_removed_share: maxRemovedShare }, { config, brand, isForced }) => {
    const { visible, maxFileMegabytes } = config;
    return catalogImportJob(source, { visible, maxFileMegabytes, maxRemovedShare, isForced }, brand);
  },
  "catalog-reconcile": (_, { config, log, brand, platform }) =>
    platform && {
      name: "catalog-reconcile",
      brand,
      source: platform.source,
      checkSource: (signal) => platform.check(signal),
      work: onDemand(async () => {
        const { catalogReconcile } = await import("../catalog/reconcile.ts");
        return catalogReconcile(platform, maxRemovedShareOf(config), config.visible, log);
      }),
    },
  "catalog-sync": (_, { config, brand, platform }) =>
    platform && {
      name: "catalog-sync",
      brand,
      source: platform.source,
      checkSource: (signal) => platform.check(signal),
      work: onDemand(async () => {
        const { catalogSync } = await import("../catalog/sync.ts");
        return catalogSync(platform, maxRemovedShareOf(config));
      }),
    },
  "personalization-import": (options, { config, brand, isForced }) =>
    personalizationImportJob(options, config, brand, modeOf(isForced)),
  "presentation-import": (options, { config, brand, isForced }) =>
    presentationImportJob(options, config, brand, modeOf(isForced)),
  "history-retention": ({ keep_days: keepDays }, { brand }) => ({
    name: "history-retention",
    brand,
    source: `runs older than ${keepDays} days`,
    work: onDemand(async () => historyRetention(keepDays, (await import("../operators/audit.ts")).removeAudit)),
  }),
};

/** Only a person can force an import. The schedule repeats any other run, even one that a person started. */
const modeOf = (isForced: boolean): ImportMode => ({ isManual: isForced, isForced });

/** Loads code only when a job runs, so that the service starts faster. */
const onDemand =
  (load: () => Promise<Work>): Work =>
  async (...context) =>
    (await load())(...context);

/**
 * In the order of first runs.
 * @param isForced whether imports ignore their checks
 */
export function listJobs(config: Config, log: Log, platform: Platform | undefined, isForced = false): PlannedJob[] {
  return Object.entries(factories).flatMap(([name, factory]) => {
    const tables: PlanOptions[] = [config.jobs[name as JobName] ?? []].flat();
    return tables.flatMap((options) => {
      const context = { config, log, brand: options.brand ?? config.brand, isForced, platform };
      const job = (factory as JobFactory<PlanOptions>)(options, context);
      return job === undefined ? [] : [{ ...job, plan: toPlan(options) }];
    });
  });
}

export function catalogImportJob(files: readonly string[], options: CatalogImportOptions, brand: string): Job {
  const source = hideCredentials(files.join(", "));
  const checkSource = async () => {
    const { checkFile } = await import("../feed/file.ts");
    return await Promise.all(files.map(checkFile));
  };
  const work = onDemand(async () => (await import("../catalog/import.ts")).catalogImport(files, options));
  return { name: "catalog-import", brand, source, checkSource, isImport: true, work };
}

export function personalizationImportJob(
  options: PersonalizationOptions,
  config: Config,
  brand: string,
  mode: ImportMode,
): Job {
  return importJob(personalizationImportName, options, config, brand, {
    toRequest: async () => (await import("../personalization/import/feed.ts")).toFeedRequest(options),
    load: async () =>
      (await import("../personalization/import/import.ts")).personalizationImport(options, config, mode),
  });
}

export function presentationImportJob(
  options: PresentationOptions,
  config: Config,
  brand: string,
  mode: ImportMode,
): Job {
  return importJob(presentationImportName, options, config, brand, {
    toRequest: async () => (await import("../personalization/presentation/source.ts")).toFileRequest(options),
    load: async () => {
      const { presentationImport } = await import("../personalization/presentation/import.ts");
      return presentationImport(options, config, mode);
    },
  });
}

function importJob<File extends string>(
  name: JobName,
  { source }: { readonly source: string },
  config: Config,
  brand: string,
  code: { readonly toRequest: () => Promise<FeedRequest<File>>; readonly load: () => Promise<Work> },
): Job {
  const checkSource = async (signal: AbortSignal) => {
    const { checkFeed } = await import("../feed/delivery.ts");
    return await checkFeed(await code.toRequest(), config, signal);
  };
  return { name, brand, source: hideCredentials(source), checkSource, isImport: true, work: onDemand(code.load) };
}
