import type { Config } from "../config/index.ts";
import { manualImportOptions, maxImportRemovedShareOf } from "../config/jobs.ts";
import { catalogImportJob, personalizationImportJob } from "../service/jobs.ts";
import type { Values } from "./common.ts";
import { importNow } from "./run.ts";

export function importProducts(files: string[], values: Values): Promise<boolean> {
  return importNow(({ visible, ...config }, brand) => {
    const maxRemovedShare = maxImportRemovedShareOf(config);
    return catalogImportJob(files, { visible, maxRemovedShare, isForced: values.force === true }, brand);
  }, values);
}

export function importPersonalization(source: string, values: Values): Promise<boolean> {
  const mode = { isManual: true, isForced: values.force === true };
  const createJob = (config: Config, brand: string) =>
    personalizationImportJob(manualImportOptions(config, source, brand), config, brand, mode);
  return importNow(createJob, values);
}
