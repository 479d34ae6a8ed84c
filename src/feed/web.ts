import { join } from "node:path";
import { ServiceError } from "../errors.ts";
import { createFetch } from "../outgoing.ts";
import { limitSize } from "../size.ts";
import { saveStream, type TemporaryFolder } from "../temporary-folder.ts";
import { bodyOf, isTemporary, Requests } from "./requests.ts";
import type { FeedSource, SourceFile, SourceSettings } from "./source.ts";

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
  const requests = new Requests(createFetch({ allowedLinkLocal }), signal);
  const commonHeaders = {
    // The file as stored: compressed files are decompressed when they are read.
    "Accept-Encoding": "identity",
    "User-Agent": "product-data-service",
    ...(feedAuthorization !== "" && { Authorization: feedAuthorization }),
  };
  const request = <T>(url: string, headers: Record<string, string>, use: (response: Response) => Promise<T>) =>
    requests.retry(url, () => requests.send(url, { headers: { ...commonHeaders, ...headers } }, use));

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

const unexpectedStatus = (name: string, { status, statusText }: Response): Error =>
  isTemporary(status)
    ? new Error(`${status} ${statusText}`)
    : new ServiceError("unavailable", `${name}: ${status} ${statusText}`);

async function download(
  response: Response,
  name: string,
  { path: folder }: TemporaryFolder,
  maxMegabytes: number,
): Promise<string> {
  const path = join(folder, new URL(name).pathname.split("/").at(-1) ?? "");
  const expected = response.headers.get("Content-Length");
  limitSize(name, Number(expected), maxMegabytes);
  const bytes = await saveStream(bodyOf(response), path, (read) => limitSize(name, read, maxMegabytes));
  if (expected !== null && bytes !== Number(expected)) throw new Error(`received ${bytes} of ${expected} bytes`);
  return path;
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
