import { join } from "node:path";
import { ServiceError } from "../errors.ts";
import { createFetch } from "../outgoing.ts";
import { limitSize } from "../size.ts";
import { saveStream, type TemporaryFolder } from "../temporary-folder.ts";
import { checksum } from "./file.ts";
import { bodyOf, changedAtOf, isTemporary, Requests } from "./requests.ts";
import type { FeedSource, SourceSettings } from "./source.ts";

/** Attempts to get one version from servers behind a load balancer that have different ones. */
const maxAttempts = 10;

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
        // The time of the last change may be the sender's, so it says nothing about the delivery.
        const file = { name, changedAtMs: changedAtOf(response), ageMs: undefined };
        // Some servers also respond 304 if the file was replaced by an older one.
        const time = isTag(version) ? null : response.headers.get("Last-Modified");
        if (response.status === 304) return { ...file, version: time ?? version };
        if (response.status === 404 || response.status === 410) return undefined;
        if (response.ok) {
          const hash = async () => checksum(bodyOf(response), (read) => limitSize(name, read, maxFileMegabytes));
          return { ...file, version: validatorOf(response) ?? toVersion((await hash()).sha256) };
        }
        throw unexpectedStatus(name, response);
      });
    },
    fetch: async ({ name, version }, openFolder, seen) => {
      const attempt = () =>
        request(name, {}, async (response) => {
          if (!response.ok) throw unexpectedStatus(name, response);
          const validator = validatorOf(response);
          // A response without one may be of any version.
          if (validator !== (isHash(version) ? undefined : version)) {
            if (validator !== undefined) seen.add(validator);
            return undefined;
          }
          const path = await download(response, name, await openFolder(), maxFileMegabytes);
          return isHash(version) && toVersion((await checksum(path)).sha256) !== version ? undefined : path;
        });
      let path = await attempt();
      for (let count = 1; path === undefined && count < maxAttempts && !isHash(version); count++)
        path = await attempt();
      return path;
    },
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
const validatorOf = ({ headers }: Response) => headers.get("ETag") ?? headers.get("Last-Modified") ?? undefined;

const isTag = (version: string) => /^(W\/)?"/.test(version);

/** The version of a file without an entity tag and a time. */
const toVersion = (sha256: string) => `sha256 ${sha256}`;
const isHash = (version: string) => version.startsWith(toVersion(""));

function conditionalHeaders(version: string): Record<string, string> {
  if (version === "" || isHash(version)) return {};
  return { [isTag(version) ? "If-None-Match" : "If-Modified-Since"]: version };
}
