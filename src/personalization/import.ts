import type { Config, PersonalizationOptions } from "../config/index.ts";
import { type Database, explainFull } from "../database/database.ts";
import {
  abandonGeneration,
  beginGeneration,
  findLastGeneration,
  finishGeneration,
  type LastGeneration,
  type LoadedRows,
  loadRows,
  readDigest,
  removeOldGenerations,
  removeUnfinishedGenerations,
  type StyleUsers,
  saveDigest,
  saveStyleUsers,
} from "../database/generation.ts";
import { ServiceError } from "../errors.ts";
import { collectFeed, type DeliveredFile, type FeedState, formatOf } from "../feed/delivery.ts";
import { type ListName, listNames } from "../feed/lists.ts";
import type { Reporter, RunContext, Work } from "../jobs/work.ts";
import type { FileReport } from "../model/import-report.ts";
import { findChanged } from "./changes.ts";
import { FeedReader } from "./feed-reader.ts";
import { objectionsTo } from "./guards.ts";
import { GenerationLoader } from "./loader.ts";
import { FeedStatistics } from "./statistics.ts";

/** Choices and styles first: by then each line can be told whether its style is there. */
const readingOrder: readonly ListName[] = ["pzchoices", "pzstyles", "pzlines"];

export const personalizationImportName = "personalization-import";

/** How a feed is taken. */
export interface ImportMode {
  /** Whether a person asked for this very feed, and is to be told when it cannot be taken. */
  readonly isByHand: boolean;
  /** Take it whatever speaks against it. */
  readonly isForced: boolean;
}

type Files = Readonly<Record<ListName, DeliveredFile>>;

/** Reads a feed and makes it the brand's current generation. */
export function personalizationImport(options: PersonalizationOptions, config: Config, mode: ImportMode): Work {
  return async (context) => {
    const { database, brand, isDryRun, reporter, signal } = context;
    if (database !== undefined && !isDryRun) await removeLeftovers(database, brand, reporter);
    const last = database && (await findLastGeneration(database, brand));
    const previous = mode.isForced ? undefined : (JSON.parse(last?.feed ?? "null") as FeedState | null);
    const given = mode.isForced ? { ...options, marker: undefined } : options;
    await using delivery = await collectFeed(given, config, previous ?? undefined, signal);
    if (delivery.status === "complete") await importFiles(delivery.files, options, mode, last, context);
    else if (delivery.status === "unchanged") reporter.note(unchangedNote(options.source, last));
    else if (mode.isByHand) throw new ServiceError("invalid_input", `${delivery.reason}; --force takes it as it is`);
    else reporter.note(`the feed is not complete yet, the next run looks again: ${delivery.reason}`);
  };
}

/** Before anything else: on a disk that is full this makes room. What fails here does not keep the import from trying. */
async function removeLeftovers(database: Database, brand: string, reporter: Reporter): Promise<void> {
  try {
    await removeUnfinishedGenerations(database, personalizationImportName, brand);
  } catch (error) {
    const { message } = explainFull(database, error) as Error;
    reporter.note(`what an earlier import left behind could not be removed, the next import tries again: ${message}`);
  }
}

function unchangedNote(source: string, last: LastGeneration | undefined): string {
  const wasRolledBack = last !== undefined && last.current !== last.id;
  return wasRolledBack
    ? `${source}: the same feed as the one that was imported last and rolled back, so it was left alone; --force takes it again`
    : `${source}: the same feed as the one that was imported last, so there was nothing to do`;
}

async function importFiles(
  files: Files,
  options: PersonalizationOptions,
  { isForced }: ImportMode,
  last: LastGeneration | undefined,
  context: RunContext,
): Promise<void> {
  const { database, isDryRun, brand, reporter } = context;
  const survey = new FeedStatistics();
  const check = async (load: Load) => {
    const read: FileReport[] = [];
    for (const list of readingOrder)
      read.push(await readFile(list, files[list], options, isForced, survey, load, context));
    reporter.finishDuplicates();
    // A generation that was loaded before feeds were kept has no digest either.
    const isComparable = last !== undefined && last.currentFeed !== null;
    const report = await survey.report(read, (list) =>
      database !== undefined && isComparable ? readDigest(database, last.current, list) : undefined,
    );
    reporter.report.personalization = report;
    reporter.failUnlessForced(objectionsTo(report, reporter.report, options), isForced);
  };
  if (database === undefined || isDryRun) {
    await check(async () => {});
    return reporter.acceptStaged();
  }

  const generation = await beginGeneration(database, brand);
  try {
    await check((list, rows) => loadRows(database, generation, list, rows));
    await saveDigests(database, generation, survey);
    await saveUsers(database, generation, survey);
    const state: FeedState = { files, format: formatOf(options) };
    const from = last?.current;
    const fingerprints = await findChanged(database, from, generation, async (most) =>
      from === undefined || last?.currentFeed === null
        ? undefined
        : await survey.lists.pzlines.fingerprintsOfChanged(readDigest(database, from, "pzlines"), most),
    );
    await finishGeneration(database, brand, generation, JSON.stringify(state), { from, fingerprints });
    reporter.acceptStaged();
  } catch (error) {
    // What cannot be removed now, because the store is lost, the next import removes.
    await abandonGeneration(database, brand, generation).catch(() => {});
    throw error;
  }
  // The feed is served by now: what goes wrong here does not make its import fail.
  await removeOldGenerations(database, brand, options.keep_generations).catch(({ message }: Error) =>
    reporter.note(`the oldest generation could not be removed, which the next import tries again: ${message}`),
  );
}

type Load = (list: ListName, rows: LoadedRows) => Promise<void>;

async function saveDigests(database: Database, generation: number, survey: FeedStatistics): Promise<void> {
  for (const list of listNames) {
    let part = 0;
    for (const data of survey.lists[list].digest()) await saveDigest(database, generation, list, part++, data);
  }
}

/** Styles of one transaction. */
const stylesPerSaving = 5000;

async function saveUsers(database: Database, generation: number, survey: FeedStatistics): Promise<void> {
  let some: StyleUsers[] = [];
  for (const users of survey.styleUsers()) {
    if (some.push(users) < stylesPerSaving) continue;
    await saveStyleUsers(database, generation, some);
    some = [];
  }
  await saveStyleUsers(database, generation, some);
}

async function readFile(
  list: ListName,
  file: DeliveredFile,
  options: PersonalizationOptions,
  isForced: boolean,
  survey: FeedStatistics,
  load: Load,
  { reporter, signal, onProgress }: RunContext,
): Promise<FileReport> {
  const reader = new FeedReader(list, file, options, isForced);
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  let rows = 0;
  await using loading = new GenerationLoader((some) => load(list, some));
  const tell = (isDone: boolean) => onProgress?.({ file: file.name, rows, bytes, totalBytes: file.bytes, isDone });
  const pieces = reader.read((read) => {
    hasher.update(read);
    bytes += read.length;
  });
  for await (const piece of pieces) {
    signal.throwIfAborted();
    for (const problem of piece.rejected) reporter.reject(problem);
    for (const row of piece.rows) {
      const earlier = survey.add(list, row, file.name);
      loading.add(row, earlier < 0);
      if (earlier < 0) reporter.stage();
      else
        reporter.acceptDuplicate(`${file.name}:${row.line}`, `key ${survey.lists[list].keyOf(row)}`, `line ${earlier}`);
    }
    rows += piece.rows.length + piece.rejected.length;
    tell(false);
    if (!loading.isFull) continue;
    await loading.send();
    // Left alone, the collector lets the rows of many transactions pile up: twice the memory for a tenth of the time.
    Bun.gc(true);
  }
  await loading.finish();
  tell(true);
  for (const note of reader.notes) reporter.note(note);
  const sha256 = hasher.digest("hex");
  if (sha256 !== file.sha256) throw new ServiceError("invalid_input", `${file.name}: was changed while it was read`);
  return {
    list,
    file: file.name,
    encoding: reader.encoding,
    separator: reader.separator,
    rows,
    isBlank: reader.isBlank,
    sha256,
  };
}
