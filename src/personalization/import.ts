import type { Config, PersonalizationOptions } from "../config/index.ts";
import type { Database } from "../database/database.ts";
import { explainDiskFull } from "../database/disk.ts";
import { findLastGeneration, type LastGeneration, readDigest } from "../database/generation.ts";
import {
  abandonGeneration,
  beginGeneration,
  finishGeneration,
  type LoadedRows,
  loadRows,
  type StyleUsers,
  saveDigest,
  saveStyleUsers,
} from "../database/generation-loading.ts";
import { removeOldGenerations, removeUnfinishedGenerations } from "../database/generation-removal.ts";
import { ServiceError } from "../errors.ts";
import { collectFeed, type DeliveredFile, type DeliveredFiles } from "../feed/delivery.ts";
import type { Reporter, RunContext, Work } from "../jobs/work.ts";
import type { FileReport } from "../model/import-report.ts";
import { type ListName, listNames } from "../model/personalization.ts";
import { findChangedFingerprints } from "./changes.ts";
import { type FeedState, formatOf, toFeedRequest } from "./feed.ts";
import { FeedReader } from "./feed-reader.ts";
import { listViolations } from "./guards.ts";
import { GenerationLoader } from "./loader.ts";
import { FeedStatistics } from "./statistics.ts";

/** Choices and styles come first, so that a line without its style is found at once. */
const readingOrder: readonly ListName[] = ["pzchoices", "pzstyles", "pzlines"];

export const personalizationImportName = "personalization-import";

export interface ImportMode {
  /** Whether a person started the import: an incomplete feed is then an error. */
  readonly isManual: boolean;
  /** Whether to import the feed regardless of the checks. */
  readonly isForced: boolean;
}

/** Reads a feed and makes it the brand's current generation. */
export function personalizationImport(options: PersonalizationOptions, config: Config, mode: ImportMode): Work {
  return async (context) => {
    const { database, brand, isDryRun, reporter, signal } = context;
    if (database !== undefined && !isDryRun) await removeLeftovers(database, brand, reporter);
    const last = database && (await findLastGeneration(database, brand));
    const request = toFeedRequest(mode.isForced ? { ...options, marker: undefined } : options);
    const known = mode.isForced ? undefined : knownFiles(last, options);
    await using delivery = await collectFeed(request, config, known, signal);
    if (delivery.status === "complete") await importFiles(delivery.files, options, mode, last, context);
    else if (delivery.status === "unchanged") reporter.note(unchangedNote(options.source, last));
    else if (mode.isManual) {
      throw new ServiceError("invalid_input", `${delivery.reason}; use --force to import the feed as it is`);
    } else reporter.note(`the feed is incomplete; the next run tries again: ${delivery.reason}`);
  };
}

/** The files of the last import, if they were read with the same options. */
function knownFiles(last: LastGeneration | undefined, options: PersonalizationOptions): FeedState["files"] | undefined {
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

function unchangedNote(source: string, last: LastGeneration | undefined): string {
  const wasRolledBack = last !== undefined && last.current !== last.id;
  return wasRolledBack
    ? `${source}: skipped: the feed has not changed since its import was rolled back; use --force to import it again`
    : `${source}: skipped: the feed has not changed since the last import`;
}

async function importFiles(
  files: DeliveredFiles<ListName>,
  options: PersonalizationOptions,
  { isForced }: ImportMode,
  last: LastGeneration | undefined,
  context: RunContext,
): Promise<void> {
  const { database, run, brand, reporter } = context;
  const statistics = new FeedStatistics();
  const check = async (load: Load) => {
    const read: FileReport[] = [];
    for (const list of readingOrder) {
      read.push(await readFile(list, files[list], options, isForced, statistics, load, context));
    }
    reporter.finishDuplicates();
    // A generation without a feed has no digest.
    const isComparable = last !== undefined && last.currentFeed !== null;
    const report = await statistics.report(read, (list) =>
      database !== undefined && isComparable ? readDigest(database, last.current, list) : undefined,
    );
    reporter.report.personalization = report;
    reporter.failUnlessForced(listViolations(report, reporter.report, options), isForced);
  };
  if (database === undefined || run === undefined) {
    await check(async () => {});
    return reporter.acceptStaged();
  }

  const generation = await beginGeneration(database, brand, run);
  try {
    await check((list, rows) => loadRows(database, generation, list, rows));
    await saveDigests(database, generation, statistics);
    await saveAllStyleUsers(database, generation, statistics);
    const state: FeedState = { files, format: formatOf(options) };
    const from = last?.current;
    const fingerprints = await findChangedFingerprints(database, from, generation, async (max) =>
      from === undefined || last?.currentFeed === null
        ? undefined
        : await statistics.lists.pzlines.findDiffering(readDigest(database, from, "pzlines"), max),
    );
    await finishGeneration(database, brand, generation, JSON.stringify(state), { from, fingerprints });
    reporter.acceptStaged();
  } catch (error) {
    // If this fails, the next import removes the generation.
    await abandonGeneration(database, brand, generation).catch(() => {});
    throw error;
  }
  // The new generation is current, so the import succeeds even if this fails.
  await removeOldGenerations(database, brand, options.keep_generations).catch(({ message }: Error) =>
    reporter.note(`cannot remove the oldest generation; the next import tries again: ${message}`),
  );
}

type Load = (list: ListName, rows: LoadedRows) => Promise<void>;

async function saveDigests(database: Database, generation: number, statistics: FeedStatistics): Promise<void> {
  for (const list of listNames) {
    let part = 0;
    for (const data of statistics.lists[list].digest()) await saveDigest(database, generation, list, part++, data);
  }
}

const stylesPerTransaction = 5000;

async function saveAllStyleUsers(database: Database, generation: number, statistics: FeedStatistics): Promise<void> {
  let batch: StyleUsers[] = [];
  for (const users of statistics.styleUsers()) {
    if (batch.push(users) < stylesPerTransaction) continue;
    await saveStyleUsers(database, generation, batch);
    batch = [];
  }
  await saveStyleUsers(database, generation, batch);
}

async function readFile(
  list: ListName,
  file: DeliveredFile,
  options: PersonalizationOptions,
  isForced: boolean,
  statistics: FeedStatistics,
  load: Load,
  { reporter, signal, onProgress }: RunContext,
): Promise<FileReport> {
  const reader = new FeedReader(list, file, options, isForced);
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  let rows = 0;
  await using loader = new GenerationLoader((loaded) => load(list, loaded));
  const reportProgress = (isDone: boolean) =>
    onProgress?.({ file: file.name, rows, bytes, totalBytes: file.bytes, isDone });
  const batches = reader.read((read) => {
    hasher.update(read);
    bytes += read.length;
  });
  for await (const batch of batches) {
    signal.throwIfAborted();
    for (const problem of batch.rejected) reporter.reject(problem);
    for (const row of batch.rows) {
      const earlier = statistics.add(list, row, file.name);
      loader.add(row, earlier < 0);
      if (earlier < 0) reporter.stage();
      else {
        const key = statistics.lists[list].keyOf(row);
        reporter.acceptDuplicate(`${file.name}:${row.line}`, `key ${key}`, `line ${earlier}`);
      }
    }
    rows += batch.rows.length + batch.rejected.length;
    reportProgress(false);
    if (!loader.isFull) continue;
    await loader.send();
    // Without this, rows of many transactions stay in memory: twice the memory for a tenth of the
    // time.
    Bun.gc(true);
  }
  await loader.finish();
  reportProgress(true);
  for (const note of reader.notes) reporter.note(note);
  const sha256 = hasher.digest("hex");
  if (sha256 !== file.sha256) throw new ServiceError("invalid_input", `${file.name}: changed while being read`);
  return {
    list,
    file: file.name,
    encoding: reader.encoding,
    separator: reader.delimiter,
    rows,
    isBlank: reader.isBlank,
    sha256,
  };
}
