import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../../../errors.ts";
import { splitLines } from "./lines.ts";
import type { BulkResult } from "./operation.ts";
import { BulkPartitions } from "./partitions.ts";

const closeBrace = "}".charCodeAt(0);

const maxDownloads = 5;
/** A download is aborted when no line arrives for this long. */
const stallMs = 30_000;
/** Delay before the second download, twice as long before the third, and so on. */
const retryDelayMs = 50;

/**
 * Downloads and partitions the results of both bulk operations.
 * @throws Error when they are still incomplete after several downloads
 */
export async function downloadBulkResults(
  products: BulkResult,
  media: BulkResult,
  signal: AbortSignal,
): Promise<BulkPartitions> {
  for (let download = 1; ; download++) {
    const partitions = await BulkPartitions.create(products.bytes + media.bytes);
    try {
      await partitions.add(readLines(products, signal), "all");
      await partitions.add(readLines(media, signal), "known");
      return partitions;
    } catch (error) {
      await partitions[Symbol.asyncDispose]();
      // A ServiceError means a full disk, which another download would not help.
      if (download === maxDownloads || signal.aborted || error instanceof ServiceError) throw error;
      await sleep(download * retryDelayMs, undefined, { signal });
    }
  }
}

async function* readLines({ url, objects }: BulkResult, signal: AbortSignal): AsyncGenerator<Buffer> {
  if (url === null) return;
  const stalled = new AbortController();
  let lines = 0;
  let linesBefore = -1;
  const stallTimer = setInterval(() => {
    if (lines === linesBefore) stalled.abort(new Error("the download of the bulk result stalled"));
    linesBefore = lines;
  }, stallMs);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, stalled.signal]) });
    if (!response.ok || response.body === null) {
      throw new Error(`cannot download the bulk result: status ${response.status}`);
    }
    for await (const line of splitLines(response.body)) {
      if (line.at(-1) !== closeBrace) throw new Error("the bulk result is incomplete: it ends within a line");
      lines++;
      yield line;
    }
  } finally {
    clearInterval(stallTimer);
  }
  if (lines !== objects) throw new Error(`the bulk result is incomplete: received ${lines} of ${objects} lines`);
}
