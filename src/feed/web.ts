import { join } from "node:path";
import { ServiceError } from "../base/errors.ts";
import { createFetch } from "../base/outgoing.ts";
import { limitSize } from "../base/size.ts";
import { saveStream, type TemporaryFolder } from "../base/temporary-folder.ts";
import { checksum } from "./file.ts";
import { bodyOf, changedAtOf, isTemporary, isWhole, Requests } from "./requests.ts";
import type { FeedSource, SourceFile, SourceSettings } from "./source.ts";

/**
 * Look-ups request headers only, so unchanged files are not downloaded. A 304 would lack the file's
 * length, and some servers send it for an older file.
 */
export function webSource(
  address: string,
  { feedAuthorization, maxFileMegabytes, allowedLinkLocal }: SourceSettings,
  signal: AbortSignal,
): FeedSource {
  const base = address.endsWith("/") ? address : `${address}/`;
  const requests = new Requests(createFetch({ allowedLinkLocal }), signal);
  const headers = {
    // Files are decompressed when they are read.
    "Accept-Encoding": "identity",
    "User-Agent": "product-data-service",
    ...(feedAuthorization !== "" && { Authorization: feedAuthorization }),
  };
  const send = <T>(method: "GET" | "HEAD", url: string, use: (response: Response) => T | Promise<T>) =>
    requests.retry(url, () => requests.send(url, { method, headers }, use));

  /** Validators by file and version, to detect several for the same content. */
  const validators = new Map<string, Set<string>>();
  const remember = (name: string, version: string, response: Response) =>
    validators.getOrInsertComputed(`${name} ${version}`, () => new Set()).add(validatorsOf(response));
  const describe = (name: string, response: Response, version: string): SourceFile => ({
    name,
    version,
    changedAtMs: changedAtOf(response),
  });
  const findByContent = (name: string) =>
    send("GET", name, async (response) => {
      if (isMissing(response)) return undefined;
      requireWhole(name, response);
      const { bytes, sha256 } = await checksum(bodyOf(response), (read) => limitSize(name, read, maxFileMegabytes));
      remember(name, toVersion(sha256), response);
      return { ...describe(name, response, toVersion(sha256)), bytes, tags: tagsOf(response) };
    });
  const find = async (name: string, version: string) => {
    // The server's validators were unreliable, but may be reliable for the next content.
    const known = isHash(version) ? await findByContent(name) : undefined;
    if (known?.version === version) return known;
    const head = await send("HEAD", name, (response) => response);
    if (isMissing(head)) return undefined;
    return isEnough(head) ? describe(name, head, validatorsOf(head)) : await findByContent(name);
  };

  const source = {
    name: base,
    hasReliableVersions: true,
    stopsAtFirstMatch: true,
    fetch: ({ name, version }: SourceFile, openFolder: () => Promise<TemporaryFolder>) =>
      send("GET", name, async (response) => {
        requireWhole(name, response);
        if (!isHash(version) && validatorsOf(response) !== version) return undefined;
        const path = await download(response, name, await openFolder(), maxFileMegabytes);
        if (!isHash(version)) return path;
        const read = toVersion((await checksum(path)).sha256);
        remember(name, read, response);
        return read === version ? path : undefined;
      }),
  };
  const addressOf = (fileName: string) => `${base}${encodeURIComponent(fileName)}`;
  return {
    ...source,
    findFile: (fileName, known) => {
      const name = addressOf(fileName);
      // A different address means a different file.
      return find(name, known?.name === name ? known.version : "");
    },
    byContent: {
      ...source,
      findFile: async (fileName) => {
        const name = addressOf(fileName);
        const found = await findByContent(name);
        const head = found && (await send("HEAD", name, (response) => response));
        if (head && isEnough(head)) remember(name, found.version, head);
        if (head && tagsOf(head) === found.tags) requireAll(name, found.bytes, head);
        return found;
      },
      notes: () =>
        [...validators]
          .filter(([, known]) => known.size > 1)
          .map(
            ([key, known]) =>
              `${key.replace(/ sha256 \w+$/, "")}: the same content has different entity tags, times, or lengths (${[...known].join(", ")}); let all responses have the same`,
          ),
    },
  };
}

const isMissing = ({ status }: Response) => status === 404 || status === 410;

/** @throws Error if it is no whole file; a ServiceError if retrying will not help */
function requireWhole(name: string, { status, statusText }: Response): void {
  if (isWhole(status)) return;
  if (isTemporary(status)) throw new Error(`${status} ${statusText}`);
  throw new ServiceError("unavailable", `${name}: ${status} ${statusText}`);
}

/** @throws ServiceError if less arrived than HEAD promised: something truncates responses */
function requireAll(name: string, bytes: number, { headers }: Response): void {
  const promised = Number(headers.get("Content-Length"));
  if (promised <= bytes) return;
  throw new ServiceError("unavailable", `${name}: received ${bytes} bytes of ${promised} that HEAD promised`);
}

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

const tagsOf = ({ headers }: Response) => `${headers.get("ETag") ?? ""} ${headers.get("Last-Modified") ?? ""}`.trim();

const validatorsOf = (response: Response) =>
  `${tagsOf(response)} ${response.headers.get("Content-Length") ?? ""}`.trim();

const isEnough = ({ status, headers }: Response) =>
  status === 200 && (headers.has("ETag") || headers.has("Last-Modified"));

const toVersion = (sha256: string) => `sha256 ${sha256}`;
const isHash = (version: string) => version.startsWith(toVersion(""));
