import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { findSourceProblem } from "../feed/address.ts";
import { type PersonalizationOptions, personalizationImportSchema } from "../personalization/options.ts";
import {
  findFileSourceProblem,
  type PresentationOptions,
  presentationImportSchema,
} from "../personalization/presentation/options.ts";
import type { JobOptions } from "./jobs.ts";

interface Configured {
  readonly jobs: JobOptions;
  readonly brand: string;
}

/**
 * Returns the options for an import that a person starts. It doesn't wait for the files to settle.
 * @throws ServiceError `bad_request` if the source is invalid
 */
export function manualImportOptions(config: Configured, source: string, brand: string): PersonalizationOptions {
  refuseIf(source, findSourceProblem(source));
  const options = findOptions(config.jobs["personalization-import"], config, brand);
  return { ...(options ?? personalizationImportSchema.parse({ source })), source, settle_seconds: 0 };
}

/** Like {@link manualImportOptions}, for a presentation. */
export function manualPresentationOptions(config: Configured, source: string, brand: string): PresentationOptions {
  refuseIf(source, findFileSourceProblem(source));
  const options = findOptions(config.jobs["presentation-import"], config, brand);
  return { ...(options ?? presentationImportSchema.parse({ source })), source, settle_seconds: 0 };
}

function refuseIf(source: string, problem: string | undefined): void {
  if (problem !== undefined) throw new ServiceError("bad_request", `${hideCredentials(source)}: ${problem}`);
}

/** Finds the options of the brand, or else those of any other brand. */
function findOptions<Options extends { readonly brand?: string | undefined }>(
  tables: readonly Options[] = [],
  config: Configured,
  brand: string,
): Options | undefined {
  return tables.find((job) => (job.brand ?? config.brand) === brand) ?? tables[0];
}
