import type { Config } from "../config/index.ts";
import { readConfig } from "../config/index.ts";
import { isUrl } from "../config/values.ts";
import { checkArchive } from "../database/transfer/read-archive.ts";
import { readStore } from "../database/transfer/read-store.ts";
import { type ArchiveSummary, writeArchive } from "../database/transfer/write-archive.ts";
import { ServiceError } from "../errors.ts";
import { type BucketObject, openObject } from "../feed/bucket-object.ts";
import { createTemporaryFolder } from "../temporary-folder.ts";
import { BackupFile } from "./backup-file.ts";
import { lowerPriority, onSignal, type Values, withStore } from "./common.ts";
import { print, printJson } from "./output.ts";
import { createRowLine } from "./progress.ts";
import { describeRows, toRows } from "./transfer-report.ts";

/** Writes the whole store, as of one moment, to a file or an object of a bucket, and reads it back. */
export async function backup(destination: string, values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const { signal } = onSignal();
  const object = isUrl(destination) ? openObject(destination, config, signal) : undefined;
  await withStore(async () => {});
  lowerPriority();
  const { summary, takenAt } =
    object === undefined
      ? await backUpToFile(destination, config, signal)
      : await backUpToBucket(object, config, signal);
  const { tables, bytes, sha256 } = summary;
  const rows = toRows(tables);
  if (values.json === true) printJson({ backup: destination, taken_at: takenAt, bytes, sha256, rows });
  else print(`backed up the store of ${takenAt} to ${destination}: ${describeRows(rows)}; ${bytes} bytes`);
  return true;
}

interface Done {
  readonly summary: ArchiveSummary;
  readonly takenAt: string;
}

async function backUpToFile(path: string, config: Config, signal: AbortSignal): Promise<Done> {
  using file = new BackupFile(path);
  const done = await write(file, path, config, signal);
  file.publish();
  return done;
}

/** Through a file, so that a slow upload does not make the snapshot last longer. */
async function backUpToBucket(object: BucketObject, config: Config, signal: AbortSignal): Promise<Done> {
  const folder = await createTemporaryFolder("backup");
  try {
    using file = new BackupFile(`${folder.path}/backup`);
    const done = await write(file, object.name, config, signal);
    await object.upload(file.path);
    const hasher = new Bun.CryptoHasher("sha256");
    for await (const chunk of Bun.file(file.path).stream()) hasher.update(chunk);
    if ((await object.hash()) === hasher.digest("hex")) return done;
    throw new ServiceError("unavailable", `${object.name}: what was stored is not what was uploaded`);
  } finally {
    await folder.remove();
  }
}

async function write(file: BackupFile, name: string, config: Config, signal: AbortSignal): Promise<Done> {
  const progress = createRowLine("backup");
  const stream = await readStore(config.databaseDirectUrl || config.databaseUrl);
  try {
    const written = await writeArchive(
      stream,
      (bytes) => file.write(bytes),
      (chunk) => {
        signal.throwIfAborted();
        progress.show(chunk);
      },
    );
    await stream.close();
    file.flush();
    const checked = checkArchive(file.path, name, signal);
    // Another process may have put its own file there.
    const { header, summary } = await checked.finally(() => file.requireOwn());
    if (!Bun.deepEquals(summary, written)) throw new Error(`${name}: what was read back is not what was written`);
    return { summary, takenAt: header.takenAt };
  } finally {
    progress.end();
    await stream.close();
  }
}
