import { setTimeout as sleep } from "node:timers/promises";
import type { Config, PersonalizationOptions } from "../config/index.ts";
import { createTemporaryFolder, type TemporaryFolder } from "../temporary-folder.ts";
import { bucketOrigin } from "./bucket.ts";
import { folderOrigin } from "./folder.ts";
import { type ListName, listNames } from "./lists.ts";
import { checksum } from "./source.ts";
import { webOrigin } from "./web.ts";

/** A file of a feed, on this machine. */
export interface FeedFile {
  readonly path: string;
  /** What messages call it: its path, or the address that it came from. */
  readonly name: string;
  /** Its size on disk, compressed as it is. */
  readonly bytes: number;
}

/** A file as its origin tells of it, before it is read. */
export interface FoundFile {
  readonly name: string;
  /** Another one whenever the content is; empty where the origin tells none. */
  readonly version: string;
  /** When it was last changed, and how long ago that was, by its origin's clock; undefined where that is not told. */
  readonly changedAtMs: number | undefined;
  readonly ageMs: number | undefined;
}

export interface Found {
  readonly files: Readonly<Record<ListName, FoundFile>>;
  /** Undefined when it is not there. */
  readonly marker: FoundFile | undefined;
}

/** Where feeds lie. */
export interface Origin {
  readonly name: string;
  /** Whether the same version means the same content for sure. */
  readonly versionsTell: boolean;
  find(marker: string | undefined): Promise<Found>;
  /** Brings a file here. @returns its path; undefined when it has another version by now */
  fetch(file: FoundFile, openFolder: () => Promise<TemporaryFolder>): Promise<string | undefined>;
}

export interface DeliveredFile extends FeedFile {
  readonly version: string;
  readonly sha256: string;
}

/** What is kept of a feed that was imported, so that it is known again. */
export interface FeedState {
  readonly files: Readonly<Record<ListName, Pick<DeliveredFile, "name" | "version" | "sha256">>>;
  /** How it was read: read in another way it is another feed. */
  readonly format: string;
}

export type Delivery = AsyncDisposable &
  (
    | { readonly status: "complete"; readonly files: Readonly<Record<ListName, DeliveredFile>> }
    | { readonly status: "unchanged" }
    | { readonly status: "incomplete"; readonly reason: string }
  );

/** Where a feed is looked for, and what that needs. */
export type Credentials = Pick<
  Config,
  "feedAuthorization" | "s3Endpoint" | "s3Region" | "s3AccessKeyId" | "s3SecretAccessKey"
>;

function openOrigin(
  options: PersonalizationOptions,
  credentials: Credentials,
  previous: FeedState | undefined,
  signal: AbortSignal,
): Origin {
  if (/^https?:\/\//i.test(options.source)) return webOrigin(options, credentials, previous, signal);
  if (/^s3:\/\//i.test(options.source)) return bucketOrigin(options, credentials, signal);
  return folderOrigin(options.source, options);
}

/** What of the options decides how a file is read. */
export function formatOf({ encoding, separator, aliases }: PersonalizationOptions): string {
  return JSON.stringify({ encoding, separator, aliases });
}

/**
 * Collects a feed, when it is complete and not the one that was imported before.
 * @param previous that one; undefined to take this one in any case
 * @throws ServiceError `invalid_input` when a file is missing, `unavailable` when the origin cannot be reached.
 */
export async function collectFeed(
  options: PersonalizationOptions,
  credentials: Credentials,
  previous: FeedState | undefined,
  signal: AbortSignal,
): Promise<Delivery> {
  const known = previous?.format === formatOf(options) ? previous : undefined;
  const origin = openOrigin(options, credentials, known, signal);
  let folder: Promise<TemporaryFolder> | undefined;
  const openFolder = () => {
    folder ??= createTemporaryFolder("feed");
    return folder;
  };
  // One that could not be made is nothing to remove.
  const dispose = async () => (await folder?.catch(() => undefined))?.remove();
  try {
    const delivery = await collect(origin, options, known, openFolder, signal);
    return { ...delivery, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

type Collected = Delivery extends infer D
  ? D extends AsyncDisposable
    ? Omit<D, typeof Symbol.asyncDispose>
    : never
  : never;

async function collect(
  origin: Origin,
  options: PersonalizationOptions,
  known: FeedState | undefined,
  openFolder: () => Promise<TemporaryFolder>,
  signal: AbortSignal,
): Promise<Collected> {
  const first = await origin.find(options.marker);
  const waitMs = settleMs(first, options);
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  const { files, marker } = waitMs > 0 ? await origin.find(options.marker) : first;
  const moving = listNames.find((list) => files[list].version !== first.files[list].version);
  if (moving !== undefined) return { status: "incomplete", reason: `${files[moving].name} is still being written` };
  if (options.marker !== undefined) {
    const reason = problemOfMarker(options.marker, marker, files);
    if (reason !== undefined) return { status: "incomplete", reason: `${origin.name}: ${reason}` };
  }
  const isKnown = (list: ListName) => {
    const { name, version } = files[list];
    return version !== "" && version === known?.files[list].version && name === known.files[list].name;
  };
  if (origin.versionsTell && listNames.every(isKnown)) return { status: "unchanged" };
  const delivered = {} as Record<ListName, DeliveredFile>;
  for (const list of listNames) {
    const { name, version } = files[list];
    const path = await origin.fetch(files[list], openFolder);
    if (path === undefined) return { status: "incomplete", reason: `${name} was changed while it was read` };
    delivered[list] = { path, name, version, ...(await checksum(path)) };
  }
  if (listNames.every((list) => delivered[list].sha256 === known?.files[list].sha256)) return { status: "unchanged" };
  return { status: "complete", files: delivered };
}

/** How long the files are still to be watched: until the youngest has been left alone for long enough. */
function settleMs({ files }: Found, { settle_seconds: seconds, marker }: PersonalizationOptions): number {
  if (marker !== undefined) return 0;
  const ages = listNames.map((list) => files[list].ageMs ?? Number.POSITIVE_INFINITY);
  // A clock that is ahead makes a file seem younger than new.
  return seconds * 1000 - Math.max(0, Math.min(...ages));
}

function problemOfMarker(name: string, marker: FoundFile | undefined, files: Found["files"]): string | undefined {
  if (marker === undefined) return `the marker ${name} is not there yet`;
  // By the time itself: an age grows from one look to the next.
  const { changedAtMs } = marker;
  if (changedAtMs === undefined) return undefined;
  const younger = listNames.find((list) => (files[list].changedAtMs ?? Number.NEGATIVE_INFINITY) > changedAtMs);
  return younger === undefined ? undefined : `the marker ${name} is older than ${files[younger].name}`;
}
