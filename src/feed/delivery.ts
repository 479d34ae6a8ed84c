import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../base/errors.ts";
import { createTemporaryFolder, type TemporaryFolder } from "../base/temporary-folder.ts";
import { bucketSource } from "./bucket.ts";
import { checksum, throwChanged } from "./file.ts";
import { folderSource } from "./folder.ts";
import type { FeedSource, KnownVersion, SourceFile, SourceSettings } from "./source.ts";
import { webSource } from "./web.ts";

/** `Key` is the caller's name for each file. */
export interface FeedRequest<Key extends string> {
  /** A folder, `https://HOST/PATH/`, or `s3://BUCKET/PREFIX/`. */
  readonly source: string;
  readonly fileNames: Readonly<Record<Key, readonly string[]>>;
  /** The file that the sender writes last; undefined to watch the files instead. */
  readonly marker: string | undefined;
  /** Without a marker, seconds without a change before the files count as complete. */
  readonly settleSeconds: number;
}

/** A complete file on this machine. */
export interface DeliveredFile extends KnownVersion {
  readonly path: string;
  /** Size as stored, perhaps compressed. */
  readonly bytes: number;
  readonly sha256: string;
}

export type DeliveredFiles<Key extends string> = Readonly<Record<Key, DeliveredFile>>;

export type KnownFiles<Key extends string> = Readonly<Record<Key, Pick<DeliveredFile, "name" | "version" | "sha256">>>;

type Result<Key extends string> =
  | { readonly status: "complete"; readonly files: DeliveredFiles<Key>; readonly notes: readonly string[] }
  | { readonly status: "unchanged" }
  | { readonly status: "incomplete"; readonly reason: string };

/** Disposal removes downloaded files. */
export type FeedDelivery<Key extends string> = AsyncDisposable & Result<Key>;

/**
 * Collects a feed if it is complete, and differs from an earlier one.
 * @param known the earlier one; undefined to collect the feed in any case
 * @throws ServiceError `invalid_input` if a file is missing or too large, `conflict` if one changed
 *   while it was read, `unavailable` if the source does not respond
 */
export async function collectFeed<Key extends string>(
  request: FeedRequest<Key>,
  settings: SourceSettings,
  known: KnownFiles<Key> | undefined,
  signal: AbortSignal,
): Promise<FeedDelivery<Key>> {
  const source = openSource(request.source, settings, signal);
  let folder: Promise<TemporaryFolder> | undefined;
  const openFolder = () => {
    folder ??= createTemporaryFolder("feed");
    return folder;
  };
  // If creating the folder failed, nothing needs to be removed.
  const dispose = async () => (await folder?.catch(() => undefined))?.remove();
  try {
    const result = await collect(source, (from) => collectOnce(from, request, known, openFolder, signal));
    return { ...result, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Checks that the files of a feed exist. @throws ServiceError as {@link collectFeed} */
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

/** A file changed before it had settled, or while the files were read. */
interface Changed {
  readonly status: "changed";
  readonly name: string;
  readonly hadSettled: boolean;
}

async function collect<Key extends string>(
  source: FeedSource,
  collectFrom: (source: FeedSource) => Promise<Result<Key> | Changed>,
): Promise<Result<Key>> {
  const result = await collectFrom(source);
  if (result.status !== "changed") return result;
  if (source.byContent !== undefined) {
    // The servers behind a load balancer may have different versions of the same content.
    const again = await collectFrom(source.byContent);
    const notes = source.byContent.notes();
    if (again.status === "complete" && notes.length > 0) return { ...again, notes };
    if (again.status === "unchanged" || again.status === "incomplete") return again;
  }
  if (result.hadSettled) throwChanged(result.name);
  const otherReason = source.byContent && ", or the servers have different contents";
  return { status: "incomplete", reason: `${result.name} is still being written${otherReason ?? ""}` };
}

async function collectOnce<Key extends string>(
  source: FeedSource,
  request: FeedRequest<Key>,
  known: KnownFiles<Key> | undefined,
  openFolder: () => Promise<TemporaryFolder>,
  signal: AbortSignal,
): Promise<Result<Key> | Changed> {
  const keys = keysOf(request);
  const first = await findFeed(source, request, known);
  const isKnown = keys.every((key) => isSame(first.files[key], known?.[key]));
  // Uses this machine's clock, because the source's may differ. Known files had settled before.
  const waitMs = isKnown || request.marker !== undefined ? 0 : request.settleSeconds * 1000;
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  const { files, marker } = waitMs > 0 ? await findFeed(source, request, first.files) : first;
  if (request.marker !== undefined) {
    const reason = problemOfMarker(request.marker, marker, Object.values(files));
    if (reason !== undefined) return { status: "incomplete", reason: `${source.name}: ${reason}` };
  }
  if (isKnown && source.hasReliableVersions) return { status: "unchanged" };
  const unsettled = keys.find((key) => !isSame(files[key], first.files[key]));
  if (unsettled !== undefined) return { status: "changed", name: files[unsettled].name, hadSettled: false };
  const delivered = {} as Record<Key, DeliveredFile>;
  for (const key of keys) {
    const { name, version } = files[key];
    const path = await source.fetch(files[key], openFolder);
    if (path === undefined) return { status: "changed", name, hadSettled: true };
    delivered[key] = { path, name, version, ...(await checksum(path)) };
  }
  // The files only belong together if none was replaced before the last byte was read.
  const after = await findFeed(source, request, files);
  const replaced = keys.find((key) => !isSame(after.files[key], files[key]));
  if (replaced !== undefined) return { status: "changed", name: files[replaced].name, hadSettled: true };
  if (keys.every((key) => delivered[key].sha256 === known?.[key].sha256)) return { status: "unchanged" };
  return { status: "complete", files: delivered, notes: [] };
}

const isSame = (file: KnownVersion, other: KnownVersion | undefined) =>
  file.version !== "" && file.version === other?.version && file.name === other.name;

const keysOf = <Key extends string>({ fileNames }: FeedRequest<Key>) => Object.keys(fileNames) as Key[];

async function findFeed<Key extends string>(
  source: FeedSource,
  request: FeedRequest<Key>,
  known: Readonly<Record<Key, KnownVersion>> | undefined,
) {
  const files = {} as Record<Key, SourceFile>;
  for (const key of keysOf(request)) files[key] = await getFile(source, request.fileNames[key], known?.[key]);
  const marker = request.marker === undefined ? undefined : await source.findFile(request.marker);
  return { files, marker };
}

/** @throws ServiceError `invalid_input` unless exactly one file has an accepted name */
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

function problemOfMarker(
  name: string,
  marker: SourceFile | undefined,
  files: readonly SourceFile[],
): string | undefined {
  if (marker === undefined) return `the marker file ${name} does not exist yet`;
  const { changedAtMs } = marker;
  if (changedAtMs === undefined) return undefined;
  const younger = files.find((file) => (file.changedAtMs ?? Number.NEGATIVE_INFINITY) > changedAtMs);
  return younger && `the marker file ${name} is older than ${younger.name}`;
}
