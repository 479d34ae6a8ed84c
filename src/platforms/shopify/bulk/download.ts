import { ServiceError } from "../../../base/errors.ts";
import { createFetch, type Fetch } from "../../../base/outgoing.ts";
import { limitSize } from "../../../base/size.ts";
import { backoff, pause } from "../../../base/time.ts";
import { BulkReadError } from "../../platform.ts";
import { DistinctLines } from "./distinct-lines.ts";
import { splitLines } from "./lines.ts";
import type { BulkFile } from "./operation.ts";
import { BulkPartitions } from "./partitions.ts";

const closeBrace = "}".charCodeAt(0);

/** With their pauses, the attempts last longer than an outage of a minute. */
const maxDownloads = 11;
const firstPauseMs = 100;
const maxPauseMs = 20_000;
/** Attempts while results arrive incomplete. */
const maxIncomplete = 5;
/** A download is aborted when no line arrives for this long. */
const stallMs = 30_000;

export interface DownloadOptions {
  /** Pause before the second download; doubles with each further one. */
  readonly pauseMs?: number;
  readonly fetch?: Fetch;
  /** Maximum size of each result; 0 for no limit. */
  readonly maxMegabytes?: number;
}

/**
 * Downloads and partitions the results of both bulk operations.
 * @throws BulkReadError when they cannot be downloaded for over a minute, or are still incomplete
 *   after several downloads; ServiceError `invalid_input` when one is too large
 */
export async function downloadBulkResults(
  products: BulkFile,
  media: BulkFile,
  signal: AbortSignal,
  { pauseMs = firstPauseMs, fetch = createFetch(), maxMegabytes = 0 }: DownloadOptions = {},
): Promise<BulkPartitions> {
  const read = (result: BulkFile) => readLines(result, signal, fetch, maxMegabytes);
  for (let download = 1; ; download++) {
    const partitions = await BulkPartitions.create(products.bytes + media.bytes);
    try {
      await partitions.add(read(products), "all");
      await partitions.add(read(media), "known");
      return partitions;
    } catch (error) {
      await partitions[Symbol.asyncDispose]();
      signal.throwIfAborted();
      // A full disk, a result that is too large, or an address that is refused: no other download helps.
      if (error instanceof ServiceError) throw error;
      if (download === (error instanceof StorageError ? maxDownloads : maxIncomplete)) {
        throw new BulkReadError((error as Error).message, { cause: error });
      }
      await pause(backoff(download, pauseMs, maxPauseMs), signal);
      signal.throwIfAborted();
    }
  }
}

class StorageError extends Error {}

/** A repeated line counts once. */
async function* readLines(
  { url, objects }: BulkFile,
  signal: AbortSignal,
  fetch: Fetch,
  maxMegabytes: number,
): AsyncGenerator<Buffer> {
  if (url === null && objects === 0) return;
  if (url === null) throw new Error(`the bulk result is incomplete: it has ${objects} lines, but no address`);
  const stalled = new AbortController();
  const distinct = new DistinctLines(objects);
  let received = 0;
  let receivedBefore = -1;
  const stallTimer = setInterval(() => {
    if (received === receivedBefore) stalled.abort(new Error("the download of the bulk result stalled"));
    receivedBefore = received;
  }, stallMs);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, stalled.signal]) }).catch((error) => {
      if (error instanceof ServiceError) throw error;
      throw new StorageError(`cannot download the bulk result: ${error.message}`, { cause: error });
    });
    if (!response.ok || response.body === null) {
      throw new StorageError(`cannot download the bulk result: status ${response.status}`);
    }
    for await (const line of splitLines(limited(response.body, maxMegabytes))) {
      if (line.at(-1) !== closeBrace) throw new Error("the bulk result is incomplete: it ends within a line");
      received++;
      if (distinct.add(line)) yield line;
    }
  } finally {
    clearInterval(stallTimer);
  }
  if (distinct.count === objects) return;
  throw new Error(`the bulk result is incomplete: received ${distinct.count} of ${objects} lines`);
}

/** The runtime decompresses a response, so these are its bytes when decompressed. */
async function* limited(body: AsyncIterable<Uint8Array>, maxMegabytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    limitSize("a bulk result", bytes, maxMegabytes);
    yield chunk;
  }
}
