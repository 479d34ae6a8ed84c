import { ServiceError } from "../../base/errors.ts";
import { removeOrphanedFolders } from "../../base/temporary-folder.ts";
import type { Database } from "../../database/database.ts";
import { explainDiskFull } from "../../database/disk.ts";
import { collectFeed, type DeliveredFiles } from "../../feed/delivery.ts";
import type { SourceSettings } from "../../feed/source.ts";
import { type PersonalizationReport, reportedExamples } from "../../jobs/import-report.ts";
import type { Reporter, RunContext, Work } from "../../jobs/work.ts";
import { removeOldGenerations, removeUnfinishedGenerations } from "../generation-removal.ts";
import { type ListName, listNames } from "../lists.ts";
import type { PersonalizationOptions } from "../options.ts";
import { personalizationImportName } from "../options.ts";
import { findLast, generations, type LastVersion, unchangedNote } from "../versions.ts";
import { type Built, GenerationBuilder } from "./build.ts";
import { type FeedOptions, type FeedState, formatOf, toFeedRequest } from "./feed.ts";
import { FeedRows } from "./feed-rows.ts";
import { abandonGeneration, beginGeneration, finishGeneration } from "./generation-loading.ts";
import { listViolations } from "./guards.ts";
import { type ReadFeed, readFeed } from "./read-feed.ts";
import { statusColumn } from "./statistics.ts";

export interface ImportMode {
  /**
   * Whether a person chose what to import, with `pds import` or `--force`. An incomplete feed is then
   * an error, because no next run tries again.
   */
  readonly isManual: boolean;
  readonly isForced: boolean;
}

export function personalizationImport(
  options: PersonalizationOptions,
  settings: SourceSettings,
  mode: ImportMode,
): Work {
  return async (context) => {
    const { database, brand, isDryRun, reporter, signal } = context;
    if (database !== undefined && !isDryRun) await removeLeftovers(database, brand, reporter);
    const last = database && (await findLast(database, generations, brand));
    const request = toFeedRequest(mode.isForced ? { ...options, marker: undefined } : options);
    const known = mode.isForced ? undefined : knownFiles(last, options);
    await using delivery = await collectFeed(request, settings, known, signal);
    if (delivery.status === "complete") {
      const { maxFileMegabytes } = settings;
      for (const note of delivery.notes) reporter.note(note);
      await importFiles(delivery.files, { ...options, maxFileMegabytes }, mode, last, context);
    } else if (delivery.status === "unchanged") reporter.note(unchangedNote("feed", options.source, last));
    else if (mode.isManual) {
      throw new ServiceError("invalid_input", `${delivery.reason}; use --force to import the feed as it is`);
    } else reporter.note(`the feed is incomplete; the next run tries again: ${delivery.reason}`);
  };
}

/** Undefined if the last import read its files with other options. */
function knownFiles(last: LastVersion | undefined, options: PersonalizationOptions): FeedState["files"] | undefined {
  const state = JSON.parse(last?.feed ?? "null") as FeedState | null;
  return state?.format === formatOf(options) ? state.files : undefined;
}

/** Runs first, to free space on a full disk. The import continues if this fails. */
async function removeLeftovers(database: Database, brand: string, reporter: Reporter): Promise<void> {
  try {
    await removeUnfinishedGenerations(database, personalizationImportName, brand);
  } catch (error) {
    const { message } = explainDiskFull(database, error) as Error;
    reporter.note(`cannot remove the data of an unfinished import; the next import tries again: ${message}`);
  }
}

async function importFiles(
  files: DeliveredFiles<ListName>,
  options: FeedOptions,
  { isForced }: ImportMode,
  last: LastVersion | undefined,
  context: RunContext,
): Promise<void> {
  const { database, run, brand, reporter, signal, onProgress } = context;
  await removeOrphanedFolders();
  await using rows = new FeedRows(files);
  const read = await readFeed(files, options, isForced, rows, context);
  const build = async (generation?: number) => {
    await using builder = new GenerationBuilder(rows, {
      database,
      current: last?.current,
      generation,
      signal,
      onProgress: (merged, isDone) =>
        onProgress?.({ file: "storing", rows: merged, done: merged, total: rows.count, isDone }),
    });
    const built = await builder.build();
    for (const { list } of read.files)
      reporter.acceptDuplicates(built.duplicates[list].count, built.duplicates[list].first);
    reporter.finishDuplicates();
    const report = toReport(read, built);
    reporter.report.personalization = report;
    const violations = listViolations(report, reporter.report, options, built.usesChoices);
    reporter.failUnlessForced(violations, isForced);
    return built;
  };
  if (database === undefined || run === undefined) {
    await build();
    return reporter.acceptStaged();
  }

  const generation = await beginGeneration(database, brand, run);
  try {
    const { size, fingerprints } = await build(generation);
    const state: FeedState = { files, format: formatOf(options) };
    const change = { from: last?.current, fingerprints };
    await finishGeneration(database, run, brand, generation, size, JSON.stringify(state), change);
    reporter.acceptStaged();
  } catch (error) {
    // Otherwise, the next import removes the generation.
    await abandonGeneration(database, brand, generation).catch(() => {});
    throw error;
  }
  // The new generation is current, so the import succeeds even if this fails.
  await removeOldGenerations(database, brand, options.keep_generations).catch(({ message }: Error) =>
    reporter.note(`cannot remove the oldest generation; the next import tries again: ${message}`),
  );
}

function toReport({ files, statistics, linesWithoutStyle }: ReadFeed, built: Built): PersonalizationReport {
  const sequences = listNames.map((list) => statistics[list].nonNumericSequences);
  return {
    files,
    ...built.differences,
    orphans: { linesWithoutStyle, ...built.orphans },
    nonNumericSequences: {
      count: sequences.reduce((sum, { count }) => sum + count, 0),
      examples: sequences.flatMap(({ examples }) => examples).slice(0, reportedExamples),
    },
    statuses: Object.fromEntries(listNames.map((list) => [statusColumn(list), statistics[list].statuses])),
  };
}
