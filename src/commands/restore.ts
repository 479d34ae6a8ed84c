import { type Config, readConfig } from "../config/index.ts";
import { isUrl, databaseUrl as parseStoreUrl } from "../config/values.ts";
import { hideCredentials } from "../credentials.ts";
import { engineOf } from "../database/engines/index.ts";
import { databaseExists } from "../database/index.ts";
import { loadStore, requireKnownMigrations } from "../database/transfer/load-store.ts";
import { checkArchive, openArchive } from "../database/transfer/read-archive.ts";
import { readStore } from "../database/transfer/read-store.ts";
import type { StoreStream } from "../database/transfer/stream.ts";
import { ServiceError } from "../errors.ts";
import { openObject } from "../feed/bucket-object.ts";
import { createTemporaryFolder } from "../temporary-folder.ts";
import { findPath, lowerPriority, onSignal, type Values } from "./common.ts";
import { print, printMessage, printSafeJson } from "./output.ts";
import { createRowLine } from "./progress.ts";
import { describeRows, toRows } from "./transfer-report.ts";

/** Replaces the store by the one in a backup. */
export async function restore(source: string, values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const { signal } = onSignal();
  if (!isUrl(source)) {
    requireFile(source);
    return await restoreFile(source, source, config, values, signal);
  }
  const object = openObject(source, config, signal);
  const folder = await createTemporaryFolder("backup");
  try {
    const path = `${folder.path}/backup`;
    await object.download(path);
    return await restoreFile(path, source, config, values, signal);
  } finally {
    await folder.remove();
  }
}

/** @throws ServiceError `bad_request` */
function requireFile(path: string): void {
  const found = findPath(path);
  if (found === undefined) throw new ServiceError("bad_request", `${path}: no such file`);
  // It is read several times.
  if (!found.isFile()) throw new ServiceError("bad_request", `${path}: not a regular file`);
}

/** @param name what messages call the file */
async function restoreFile(
  path: string,
  name: string,
  config: Config,
  values: Values,
  signal: AbortSignal,
): Promise<boolean> {
  const url = config.databaseDirectUrl || config.databaseUrl;
  // The whole file is checked before anything is created.
  const { header, contentLength } = await checkArchive(path, name, signal);
  requireKnownMigrations(engineOf(url), header.migrations, `${name}: version ${header.version} made this backup`);
  const archive = openArchive(path, name);
  try {
    return await load(archive, url, values, signal, {
      title: "restore",
      done: `restored ${name}, of ${header.takenAt},`,
      isResuming: false,
      requiredBytes: stagingFactor * contentLength,
    });
  } finally {
    await archive.close();
  }
}

/** Copies a store into another one. */
export async function copy(values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const { signal } = onSignal();
  const from = storeOf(values, "from") ?? (config.databaseDirectUrl || config.databaseUrl);
  const to = storeOf(values, "to");
  if (to === undefined) throw new ServiceError("bad_request", "copy: expected --to URL");
  if (from === to) throw new ServiceError("bad_request", "copy: --from and --to are the same store");
  if (!databaseExists(from)) throw new ServiceError("unavailable", `${from} does not exist`);
  const stream = await readStore(from);
  try {
    return await load(stream, to, values, signal, {
      title: "copy",
      done: `copied ${hideCredentials(from)}, as of ${stream.header.takenAt},`,
      isResuming: true,
      requiredBytes: 0,
    });
  } finally {
    await stream.close();
  }
}

function storeOf(values: Values, option: "from" | "to"): string | undefined {
  const given = values[option];
  if (typeof given !== "string") return undefined;
  try {
    return parseStoreUrl(given);
  } catch (cause) {
    throw new ServiceError("bad_request", `--${option}: ${(cause as Error).message}`, { cause });
  }
}

/** For a while there are two stores, and a log as large as one. */
const stagingFactor = 3;

async function load(
  stream: StoreStream,
  url: string,
  values: Values,
  signal: AbortSignal,
  {
    title,
    done,
    isResuming,
    requiredBytes,
  }: Readonly<Record<"title" | "done", string>> & { readonly isResuming: boolean; readonly requiredBytes: number },
): Promise<boolean> {
  lowerPriority();
  const progress = createRowLine(title);
  try {
    const totals = await loadStore(stream, url, {
      isReplacing: values.replace === true,
      isResuming,
      requiredBytes,
      onChunk: progress.show,
      onWait: (sentence) => printMessage(`${sentence}; waiting for it`),
      signal,
    });
    progress.end();
    const rows = toRows(totals);
    if (values.json === true) printSafeJson({ store: url, taken_at: stream.header.takenAt, rows });
    else print(`${done} to ${hideCredentials(url)}: ${describeRows(rows)}`);
    return true;
  } catch (error) {
    progress.end();
    throw error;
  }
}
