import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../errors.ts";
import { createTemporaryFolder, type TemporaryFolder } from "../temporary-folder.ts";
import { bucketSource } from "./bucket.ts";
import { checksum, throwChanged } from "./file.ts";
import { folderSource } from "./folder.ts";
import type { FeedSource, KnownVersion, SourceFile, SourceSettings } from "./source.ts";
import { webSource } from "./web.ts";

/** A feed to collect. `Key` is the caller's name for each of its files. */
export interface FeedRequest<Key extends string> {
  /** A folder, `https://HOST/PATH/`, or `s3://BUCKET/PREFIX/`. */
  readonly source: string;
  /** The accepted file names of each file. */
  readonly fileNames: Readonly<Record<Key, readonly string[]>>;
  /** A file that is written last; undefined to watch the files instead. */
  readonly marker: string | undefined;
  /** Without a marker, how long the files must have been left alone. */
  readonly settleSeconds: number;
}

/** A complete file of a feed, on this machine. */
export interface DeliveredFile extends KnownVersion {
  readonly path: string;
  /** Its size on disk, which is the compressed size of a compressed file. */
  readonly bytes: number;
  readonly sha256: string;
}

export type DeliveredFiles<Key extends string> = Readonly<Record<Key, DeliveredFile>>;

/** Identifies the files of an earlier delivery. */
export type KnownFiles<Key extends string> = Readonly<Record<Key, Pick<DeliveredFile, "name" | "version" | "sha256">>>;

type Result<Key extends string> =
  | { readonly status: "complete"; readonly files: DeliveredFiles<Key>; readonly notes: readonly string[] }
  | { readonly status: "unchanged" }
  | { readonly status: "incomplete"; readonly reason: string };

/** The outcome of a collection; disposing it removes downloaded files. */
export type Delivery<Key extends string> = AsyncDisposable & Result<Key>;

/**
 * Collects a feed if it is complete and differs from an earlier one.
 * @param known the earlier one; undefined to collect the feed in any case
 * @throws ServiceError `invalid_input` if a file is missing or too large, `conflict` if one changed
 * while it was read, `unavailable` if the source does not respond.
 */
export async function collectFeed<Key extends string>(
  request: FeedRequest<Key>,
  settings: SourceSettings,
  known: KnownFiles<Key> | undefined,
  signal: AbortSignal,
): Promise<Delivery<Key>> {
  const source = openSource(request.source, settings, signal);
  let folder: Promise<TemporaryFolder> | undefined;
  const openFolder = () => {
    folder ??= createTemporaryFolder("feed");
    return folder;
  };
  // If creating the folder failed, there is nothing to remove.
  const dispose = async () => (await folder?.catch(() => undefined))?.remove();
  try {
    const result = await collect(source, request, known, openFolder, signal);
    return { ...result, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/**
 * Looks for the files of a feed without reading them.
 * @throws ServiceError as {@link collectFeed}
 */
export async function checkFeed<Key extends string>(
  request: FeedRequest<Key>,
  settings: SourceSettings,
  signal: AbortSignal,
): Promise<void> {
  await findFeed(openSource(request.source, settings, signal), request, undefined);
}

function openSource(address: string, settings: SourceSettings, signal: AbortSignal): FeedSource {
  if (/^https?:\/\//i.test(address)) return webSource(address, settings, signal);
  if (/^s3:\/\//i.test(address)) return bucketSource(address, settings, signal);
  return folderSource(address, settings);
}

async function collect<Key extends string>(
  source: FeedSource,
  request: FeedRequest<Key>,
  known: KnownFiles<Key> | undefined,
  openFolder: () => Promise<TemporaryFolder>,
  signal: AbortSignal,
): Promise<Result<Key>> {
  const first = await findFeed(source, request, known);
  const keys = keysOf(request);
  const isKnown = (found: FoundFeed<Key>) =>
    source.hasReliableVersions && keys.every((key) => isSame(found.files[key], known?.[key]));
  // A file of unknown age would be waited for in each run.
  const waitMs = isKnown(first) ? 0 : remainingSettleMs(first, request);
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  const found = waitMs > 0 ? await findFeed(source, request, first.files) : first;
  const { files, marker } = found;
  if (request.marker !== undefined) {
    const reason = problemOfMarker(request.marker, marker, Object.values(files));
    if (reason !== undefined) return { status: "incomplete", reason: `${source.name}: ${reason}` };
  }
  if (isKnown(found)) return { status: "unchanged" };
  const result = await readFiles(source, request, first.files, files, openFolder);
  if (result.status === "complete" && keys.every((key) => result.files[key].sha256 === known?.[key].sha256)) {
    return { status: "unchanged" };
  }
  return result;
}

/**
 * Reads the files, and looks for them again: they belong together only if none was replaced before
 * the last byte was read.
 * @param first how they were found before they had settled
 * @throws ServiceError `conflict` if one changed meanwhile
 */
async function readFiles<Key extends string>(
  source: FeedSource,
  request: FeedRequest<Key>,
  first: Readonly<Record<Key, SourceFile>>,
  files: Readonly<Record<Key, SourceFile>>,
  openFolder: () => Promise<TemporaryFolder>,
): Promise<Result<Key>> {
  const keys = keysOf(request);
  const delivered = {} as Record<Key, DeliveredFile>;
  const versions = {} as Record<Key, Set<string>>;
  for (const key of keys) {
    versions[key] = new Set([first[key].version, files[key].version]);
    const file = await readVersions(source, files[key], versions[key], openFolder);
    if (file === undefined && first[key].version !== files[key].version) {
      return { status: "incomplete", reason: `${files[key].name} is still being written` };
    }
    delivered[key] = file ?? throwChanged(files[key].name);
  }
  const after = await findFeed(source, request, files);
  for (const key of keys) {
    if (isSame(after.files[key], files[key])) continue;
    versions[key].add(after.files[key].version);
    const file = await readVersions(source, after.files[key], versions[key], openFolder);
    if (file?.sha256 !== delivered[key].sha256) throwChanged(files[key].name);
  }
  const notes = keys
    .filter((key) => versions[key].size > 1)
    .map((key) => describeVersions(files[key].name, versions[key]));
  return { status: "complete", files: delivered, notes };
}

const isSame = (file: KnownVersion, other: KnownVersion | undefined) =>
  file.version !== "" && file.version === other?.version && file.name === other.name;

const describeVersions = (name: string, versions: ReadonlySet<string>) =>
  `${name}: the same content has different entity tags or times (${[...versions].join(", ")}); make the servers behind the load balancer send the same`;

/**
 * Reads these versions of a file, and those that it comes across: the servers behind a load
 * balancer may have different versions of the same content.
 * @returns undefined if one of them is gone
 * @throws ServiceError `conflict` if they differ in content
 */
async function readVersions(
  source: FeedSource,
  { name, ...file }: SourceFile,
  versions: Set<string>,
  openFolder: () => Promise<TemporaryFolder>,
): Promise<DeliveredFile | undefined> {
  let delivered: DeliveredFile | undefined;
  for (const version of versions) {
    const path = await source.fetch({ ...file, name, version }, openFolder, versions);
    if (path === undefined) return undefined;
    const read = { path, name, version, ...(await checksum(path)) };
    if (delivered !== undefined && read.sha256 !== delivered.sha256) throwChanged(name);
    delivered = read;
  }
  return delivered;
}

const keysOf = <Key extends string>({ fileNames }: FeedRequest<Key>) => Object.keys(fileNames) as Key[];

interface FoundFeed<Key extends string> {
  readonly files: Readonly<Record<Key, SourceFile>>;
  /** Undefined if it does not exist. */
  readonly marker: SourceFile | undefined;
}

async function findFeed<Key extends string>(
  source: FeedSource,
  request: FeedRequest<Key>,
  known: Readonly<Record<Key, KnownVersion>> | undefined,
): Promise<FoundFeed<Key>> {
  const files = {} as Record<Key, SourceFile>;
  for (const key of keysOf(request)) files[key] = await getFile(source, request.fileNames[key], known?.[key]);
  const marker = request.marker === undefined ? undefined : await source.findFile(request.marker);
  return { files, marker };
}

/** @throws ServiceError `invalid_input` if no file has an accepted name, or several have. */
async function getFile(source: FeedSource, names: readonly string[], known?: KnownVersion): Promise<SourceFile> {
  const files: SourceFile[] = [];
  if (source.stopsAtFirstMatch) {
    for (const name of names) {
      const file = await source.findFile(name, known);
      if (file === undefined) continue;
      files.push(file);
      break;
    }
  } else {
    const found = await Promise.all(names.map((name) => source.findFile(name)));
    files.push(...found.filter((file) => file !== undefined));
  }
  const [file, ...others] = files;
  if (file === undefined) {
    const expected = names.length === 1 ? names[0] : `one of ${names.join(", ")}`;
    throw new ServiceError("invalid_input", `${source.name}: file not found: expected ${expected}`);
  }
  if (others.length > 0) {
    const all = files.map(({ name }) => name).join(" and ");
    throw new ServiceError("invalid_input", `${source.name}: found ${all}; keep only one of them`);
  }
  return file;
}

/** How long the youngest file must still be left alone, in milliseconds. */
function remainingSettleMs<Key extends string>({ files }: FoundFeed<Key>, request: FeedRequest<Key>): number {
  if (request.marker !== undefined) return 0;
  const ages = keysOf(request).map((key) => files[key].ageMs ?? 0);
  // If the source's clock is ahead of ours, an age can be negative.
  return request.settleSeconds * 1000 - Math.max(0, Math.min(...ages));
}

function problemOfMarker(
  name: string,
  marker: SourceFile | undefined,
  files: readonly SourceFile[],
): string | undefined {
  if (marker === undefined) return `the marker file ${name} does not exist yet`;
  // Compares times, not ages: ages grow between two look-ups.
  const { changedAtMs } = marker;
  if (changedAtMs === undefined) return undefined;
  const younger = files.find((file) => (file.changedAtMs ?? Number.NEGATIVE_INFINITY) > changedAtMs);
  return younger && `the marker file ${name} is older than ${younger.name}`;
}
