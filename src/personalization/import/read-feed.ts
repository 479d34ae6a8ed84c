import type { DeliveredFile, DeliveredFiles } from "../../feed/delivery.ts";
import { throwChanged } from "../../feed/file.ts";
import { excerpt, type FileReport, type Occurrences } from "../../jobs/import-report.ts";
import type { Reporter, RunContext } from "../../jobs/work.ts";
import { type ListName, lists } from "../lists.ts";
import type { FeedOptions } from "./feed.ts";
import { chunkBytes, FeedReader } from "./feed-reader.ts";
import type { FeedRows } from "./feed-rows.ts";
import { GarbageCollector } from "./garbage.ts";
import { countOccurrence, ListStatistics } from "./statistics.ts";

/** Styles precede lines, so that a line with an undefined style is detected immediately. */
const readingOrder: readonly ListName[] = ["pzchoices", "pzstyles", "pzlines"];

const styleOfLine = lists.pzlines.columns.indexOf("style_code");

export interface ReadFeed {
  /** In the order of reading. */
  readonly files: readonly FileReport[];
  readonly statistics: Readonly<Record<ListName, ListStatistics>>;
  readonly linesWithoutStyle: Occurrences;
}

/**
 * @param rows receives the accepted rows
 * @throws ServiceError `invalid_input` if a file cannot be read, or the feed is too large;
 *   `conflict` if a file changed
 */
export async function readFeed(
  files: DeliveredFiles<ListName>,
  options: FeedOptions,
  isForced: boolean,
  rows: FeedRows,
  context: RunContext,
): Promise<ReadFeed> {
  const read = {
    files: [] as FileReport[],
    statistics: {
      pzlines: new ListStatistics("pzlines"),
      pzstyles: new ListStatistics("pzstyles"),
      pzchoices: new ListStatistics("pzchoices"),
    },
    linesWithoutStyle: { count: 0, examples: [] },
  };
  const countRows = createRowLimit(options.max_rows, isForced, context.reporter);
  for (const list of readingOrder) {
    if (list === "pzlines") rows.numberStyles();
    read.files.push(await readFile(list, files[list], options, isForced, rows, read, countRows, context));
  }
  return read;
}

type CountRows = (file: string, rows: number) => void;

/** The first row beyond the limit fails the run, or is reported. */
function createRowLimit(maxRows: number, isForced: boolean, reporter: Reporter): CountRows {
  let total = 0;
  return (file, rows) => {
    const wasWithin = total <= maxRows;
    total += rows;
    if (!wasWithin || total <= maxRows) return;
    reporter.failUnlessForced([`${file}: the feed has more rows than max_rows allows (${maxRows})`], isForced);
  };
}

async function readFile(
  list: ListName,
  file: DeliveredFile,
  options: FeedOptions,
  isForced: boolean,
  rows: FeedRows,
  { statistics, linesWithoutStyle }: ReadFeed,
  countRows: CountRows,
  { reporter, signal, onProgress }: RunContext,
): Promise<FileReport> {
  const reader = new FeedReader(list, file, options, isForced);
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  let count = 0;
  const garbage = new GarbageCollector();
  const reportProgress = (isDone: boolean) =>
    onProgress?.({ file: file.name, rows: count, done: bytes, total: file.bytes, isDone });
  const batches = reader.read((read) => {
    hasher.update(read);
    bytes += read.length;
  });
  for await (const batch of batches) {
    signal.throwIfAborted();
    countRows(file.name, batch.rows.length + batch.rejected.length);
    for (const problem of batch.rejected) reporter.reject(problem);
    for (const row of batch.rows) {
      rows.add(list, row);
      statistics[list].add(row, file.name);
      if (list === "pzlines" && rows.lastStyle > rows.definedStyles) {
        countOccurrence(
          linesWithoutStyle,
          () => `${rows.place(list, row.line)}: ${excerpt(row.values[styleOfLine] ?? "")}`,
        );
      }
    }
    reporter.stage(batch.rows.length);
    count += batch.rows.length + batch.rejected.length;
    reportProgress(false);
    garbage.count(chunkBytes);
  }
  rows.finish(list);
  reportProgress(true);
  for (const note of reader.notes) reporter.note(note);
  const sha256 = hasher.digest("hex");
  if (sha256 !== file.sha256) throwChanged(file.name);
  return {
    list,
    file: file.name,
    encoding: reader.encoding,
    separator: reader.delimiter,
    rows: count,
    isBlank: reader.isBlank,
    sha256,
  };
}
