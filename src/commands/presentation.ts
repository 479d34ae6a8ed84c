import { ServiceError } from "../base/errors.ts";
import type { Database } from "../database/database.ts";
import { formatRejectedRow } from "../jobs/import-report.ts";
import { checkPresentation } from "../personalization/presentation/check.ts";
import type { PresentationEntry } from "../personalization/presentation/entry.ts";
import { readPresentation } from "../personalization/presentation/parse.ts";
import { findCurrentEntries } from "../personalization/presentation/store.ts";
import { writeTemplate } from "../personalization/presentation/template.ts";
import { describeNoneStored, findCurrent, generations, presentations } from "../personalization/versions.ts";
import { brandOf, findPath, type Values, withStore } from "./common.ts";
import { print, printMessage, printSafeJson } from "./output.ts";

/** @returns whether each code has a name, and each entry a code */
export async function checkNames(file: string | undefined, values: Values): Promise<boolean> {
  if (file !== undefined && findPath(file)?.isDirectory() !== false) {
    throw new ServiceError("bad_request", `${file}: no such file`);
  }
  return await withStore(async (database, config) => {
    const brand = brandOf(config, values);
    const entries = file === undefined ? await getStored(database, brand) : await readValid(file);
    const generation = await getGeneration(database, brand);
    const { codesWithoutNames, namesWithoutCodes } = await checkPresentation(
      database,
      generation,
      entries,
      Number.POSITIVE_INFINITY,
    );
    if (values.json === true) {
      printSafeJson({
        brand,
        entries: entries.length,
        codes_without_names: codesWithoutNames.examples,
        names_without_codes: namesWithoutCodes.examples,
      });
    } else {
      for (const code of codesWithoutNames.examples) print(`no name: ${code}`);
      for (const code of namesWithoutCodes.examples) print(`not in the feed: ${code}`);
      printMessage(
        `${entries.length} entries of ${brand}; codes without names: ${codesWithoutNames.count}; names without codes: ${namesWithoutCodes.count}`,
      );
    }
    return codesWithoutNames.count + namesWithoutCodes.count === 0;
  });
}

export function template(values: Values): Promise<boolean> {
  return withStore(async (database, config) => {
    const generation = await getGeneration(database, brandOf(config, values));
    let text = "";
    for await (const part of writeTemplate(database, generation, config.defaultLocale)) text += part;
    print(text.trimEnd());
    return true;
  });
}

async function getStored(database: Database, brand: string): Promise<PresentationEntry[]> {
  const entries = await findCurrentEntries(database, brand);
  if (entries !== undefined) return entries;
  const problem = await describeNoneStored(database, presentations, brand);
  throw new ServiceError("not_found", `${problem}; name a file to check`);
}

/** Prints what is wrong with the entries of a file that are left out. */
async function readValid(file: string): Promise<readonly PresentationEntry[]> {
  const { entries, rejected } = await readPresentation(file, file);
  for (const row of rejected.flat()) printMessage(formatRejectedRow(row));
  if (rejected.length === 0) return entries;
  throw new ServiceError("invalid_input", `${file}: ${rejected.length} entries are invalid`);
}

async function getGeneration(database: Database, brand: string): Promise<number> {
  const generation = await findCurrent(database, generations, brand);
  if (generation !== undefined) return generation;
  const problem = await describeNoneStored(database, generations, brand);
  throw new ServiceError("not_found", `${problem}; import a feed first`);
}
