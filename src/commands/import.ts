import { ServiceError } from "../base/errors.ts";
import { isUrl } from "../base/url.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import { manualImportOptions, manualPresentationOptions } from "../config/manual-options.ts";
import { catalogImportJob, personalizationImportJob, presentationImportJob } from "../service/jobs.ts";
import { findPath, type Values } from "./common.ts";
import { importNow } from "./run.ts";

export async function importProducts(files: string[], values: Values): Promise<boolean> {
  for (const file of files) requirePath(file, "file");
  return await importNow((config, brand) => {
    const { visible, maxFileMegabytes } = config;
    const maxRemovedShare = maxRemovedShareOf(config, "catalog-import");
    const options = { visible, maxFileMegabytes, maxRemovedShare, isForced: values.force === true };
    return catalogImportJob(files, options, brand);
  }, values);
}

export async function importPersonalization(source: string, values: Values): Promise<boolean> {
  if (!isUrl(source)) requirePath(source, "folder");
  const mode = { isManual: true, isForced: values.force === true };
  const createJob = (config: Config, brand: string) =>
    personalizationImportJob(manualImportOptions(config, source, brand), config, brand, mode);
  return await importNow(createJob, values);
}

export async function importPresentation(source: string, values: Values): Promise<boolean> {
  if (!isUrl(source)) requirePath(source, "file");
  const mode = { isManual: true, isForced: values.force === true };
  const createJob = (config: Config, brand: string) =>
    presentationImportJob(manualPresentationOptions(config, source, brand), config, brand, mode);
  return await importNow(createJob, values);
}

/** A mistyped path is a mistake of the command line, so that it leaves no run in the history. */
function requirePath(path: string, what: "file" | "folder"): void {
  const found = findPath(path);
  if (found === undefined) throw new ServiceError("bad_request", `${path}: no such ${what}`);
  // Neither need be a regular file: a shell passes the output of a command as a pipe.
  if (found.isDirectory() !== (what === "folder")) throw new ServiceError("bad_request", `${path}: not a ${what}`);
}
