import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../errors.ts";
import { createFetch, type Fetch } from "../outgoing.ts";
import { limitSize } from "../size.ts";
import { saveStream, type TemporaryFolder } from "../temporary-folder.ts";
import type { FeedSource, SourceFile, SourceSettings } from "./source.ts";

const maxAttempts = 4;
/** Pause before the second attempt; it doubles with each further one. */
const firstPauseMs = 500;
/** A response that brings no data for this long is aborted. */
const stallTimeoutMs = 30_000;

/**
 * The files below an `https://` address. Look-ups are conditional requests: unchanged files are not
 * sent again.
 */
export function webSource(
  address: string,
  { feedAuthorization, maxFileMegabytes, allowedLinkLocal }: SourceSettings,
  signal: AbortSignal,
): FeedSource {
  const base = address.endsWith("/") ? address : `${address}/`;
  const request = requestWithRetries(
    createFetch({ allowedLinkLocal }),
    {
      // The file as stored: compressed files are decompressed when they are read.
      "Accept-Encoding": "identity",
      "User-Agent": "product-data-service",
      ...(feedAuthorization !== "" && { Authorization: feedAuthorization }),
    },
    signal,
  );

  return {
    name: base,
    hasReliableVersions: true,
    stopsAtFirstMatch: true,
    findFile: (fileName, known) => {
      const name = `${base}${encodeURIComponent(fileName)}`;
      // A time from another address would make an older file look unchanged.
      const version = known?.name === name ? known.version : "";
      return request(name, conditionalHeaders(version), async (response) => {
        const file = { name, ...timesOf(response) };
        if (response.status === 304) return { ...file, version };
        if (response.status === 404 || response.status === 410) return undefined;
        if (response.ok) return { ...file, version: versionOf(response) };
        throw unexpectedStatus(name, response);
      });
    },
    fetch: ({ name, version }, openFolder) =>
      request(name, {}, async (response) => {
        if (!response.ok) throw unexpectedStatus(name, response);
        if (versionOf(response) !== version) return undefined;
        return await download(response, name, await openFolder(), maxFileMegabytes);
      }),
  };
}

/** Returns a function that sends a request and retries when the failure may be temporary. */
function requestWithRetries(fetch: Fetch, commonHeaders: Record<string, string>, signal: AbortSignal) {
  return async <T>(url: string, headers: Record<string, string>, handle: (response: Response) => Promise<T>) => {
    for (let attempt = 1; ; attempt++) {
      const stall = new AbortController();
      const abort = () => stall.abort(new Error(`no data for ${stallTimeoutMs / 1000} s`));
      const timer = setTimeout(abort, stallTimeoutMs);
      let response: Response | undefined;
      try {
        response = await fetch(url, {
          headers: { ...commonHeaders, ...headers },
          signal: AbortSignal.any([signal, stall.signal]),
          decompress: false,
        });
        timer.refresh();
        if (response.status < 500 && response.status !== 429) return await handle(withStallTimer(response, timer));
        throw new Error(`${response.status} ${response.statusText}`);
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof ServiceError) throw cause;
        const reason = ((stall.signal.reason as Error | undefined) ?? (cause as Error)).message;
        if (attempt === maxAttempts) throw new ServiceError("unavailable", `${url}: ${reason}`, { cause });
        await sleep(firstPauseMs * 2 ** (attempt - 1), undefined, { signal });
      } finally {
        clearTimeout(timer);
        if (response?.bodyUsed === false) await response.body?.cancel();
      }
    }
  };
}

const unexpectedStatus = (name: string, { status, statusText }: Response) =>
  new ServiceError("unavailable", `${name}: ${status} ${statusText}`);

async function download(
  response: Response,
  name: string,
  { path: folder }: TemporaryFolder,
  maxMegabytes: number,
): Promise<string> {
  const path = join(folder, new URL(name).pathname.split("/").at(-1) ?? "");
  const expected = response.headers.get("Content-Length");
  limitSize(name, Number(expected), maxMegabytes);
  const body = response.body ?? new ReadableStream<Uint8Array>();
  const bytes = await saveStream(body, path, (read) => limitSize(name, read, maxMegabytes));
  if (expected !== null && bytes !== Number(expected)) throw new Error(`received ${bytes} of ${expected} bytes`);
  return path;
}

/** The response; each chunk of its body restarts the timer. */
function withStallTimer(response: Response, timer: NodeJS.Timeout): Response {
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        timer.refresh();
        controller.enqueue(chunk);
      },
    }),
  );
  return new Response(body ?? null, response);
}

/** The entity tag, or else the time of the last change. */
function versionOf({ headers }: Response): string {
  return headers.get("ETag") ?? headers.get("Last-Modified") ?? "";
}

function conditionalHeaders(version: string): Record<string, string> {
  if (version === "") return {};
  return { [/^(W\/)?"/.test(version) ? "If-None-Match" : "If-Modified-Since"]: version };
}

function timesOf({ headers }: Response): Pick<SourceFile, "changedAtMs" | "ageMs"> {
  const [changed, now] = ["Last-Modified", "Date"].map((name) => Date.parse(headers.get(name) ?? ""));
  if (changed === undefined || Number.isNaN(changed)) return { changedAtMs: undefined, ageMs: undefined };
  return { changedAtMs: changed, ageMs: (now === undefined || Number.isNaN(now) ? Date.now() : now) - changed };
}
