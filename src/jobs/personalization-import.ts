import { type PersonalizationBatch, replacePersonalization } from "../database/personalization.ts";
import { findFiles, type ListName, listNames, lists, readRows } from "../feed/personalization.ts";
import type { Reporter, Work } from "./work.ts";

const batchSize = 1000;

/** Reads a feed, the folder with the three files, and makes it the brand's current generation. */
export function personalizationImport(folder: string): Work {
  return async ({ database, brand, reporter, signal }) => {
    const files = await findFiles(folder);
    const batches = readBatches(files, reporter, signal);
    if (database !== undefined) await replacePersonalization(database, brand, batches);
    else while (!(await batches.next()).done);
  };
}

async function* readBatches(
  files: Record<ListName, string>,
  reporter: Reporter,
  signal: AbortSignal,
): AsyncGenerator<PersonalizationBatch> {
  for (const list of listNames) yield* readList(list, files[list], reporter, signal);
  reporter.finish();
}

type PlacedRow = Record<string, string | number>;

async function* readList(
  list: ListName,
  path: string,
  reporter: Reporter,
  signal: AbortSignal,
): AsyncGenerator<PersonalizationBatch> {
  const seen = new Map<string, number>();
  let batch = new Map<string, PlacedRow>();
  // The rows have exactly the columns of their list: the reader made them so.
  const toBatch = () => ({ list, rows: [...batch.values()] }) as unknown as PersonalizationBatch;
  let position = 0;
  for await (const read of readRows(list, path)) {
    signal.throwIfAborted();
    if ("note" in read) reporter.note(read.note);
    else if ("rejected" in read) reporter.reject(read.rejected);
    else {
      const { row, file, line } = read;
      const key = JSON.stringify(lists[list].key.map((column) => row[column]));
      const earlier = seen.get(key);
      if (earlier === undefined) reporter.accept();
      else reporter.acceptDuplicate(`${file}:${line}`, `key ${key}`, `line ${earlier}`);
      seen.set(key, line);
      batch.set(key, { ...row, position: position++ });
      if (batch.size < batchSize) continue;
      if (!reporter.refused) yield toBatch();
      batch = new Map();
    }
  }
  if (!reporter.refused) yield toBatch();
}
