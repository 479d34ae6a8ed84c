import { statfs } from "node:fs/promises";
import { ServiceError } from "../base/errors.ts";
import type { Database } from "./database.ts";

const maxAttempts = 3;
const pauseMs = 100;

/** For work that must succeed even on a full disk. Frees the space of the log. */
export async function retryWhenDiskFull<T>({ sql, engine }: Database, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (engine.classify(error) !== "full" || attempt === maxAttempts) throw error;
      await Bun.sleep(pauseMs);
      // The disk may be too full even for that.
      await engine.file?.truncateLog(sql).catch(() => {});
    }
  }
}

/** @returns for a full disk an error that says what to do; any other error unchanged */
export function explainDiskFull({ engine, name }: Pick<Database, "engine" | "name">, error: unknown): unknown {
  if (engine.classify(error) !== "full") return error;
  const { message } = error as Error;
  return new ServiceError(
    "unavailable",
    `DATABASE_URL: ${name} cannot grow: its disk is full, or a limit is reached (${message}); free some space there`,
    { cause: error },
  );
}

/** Enough for one transaction of an import and the removal of a whole generation. */
const requiredBytes = 16 * 2 ** 20;
/** The log's part of it. The store can write the rest to pages that it has freed. */
const requiredLogBytes = 8 * 2 ** 20;

/**
 * On a full disk, an embedded store can neither delete rows nor record that a run failed.
 * @throws ServiceError `unavailable` when there is too little space
 */
export async function checkFreeSpace({ name, folder, sql, engine: { file } }: Database): Promise<void> {
  if (file === undefined || folder === undefined || (await readFreeBytes(folder)) >= requiredBytes) return;
  // An import that failed leaves the log and the file as large as they were.
  await file.truncateLog(sql).catch(() => {});
  const freeBytes = await readFreeBytes(folder);
  const usableBytes = freeBytes + (await file.readReusableBytes(sql));
  if (freeBytes >= requiredLogBytes && usableBytes >= requiredBytes) return;
  const megabytes = (bytes: number) => Math.floor(bytes / 2 ** 20);
  throw new ServiceError(
    "unavailable",
    `DATABASE_URL: the disk of ${name} is full: ${megabytes(freeBytes)} MB are left, and an import needs ` +
      `${megabytes(requiredBytes)} MB so that it can clean up after a failure; free some space there`,
  );
}

/** Not every system reports it. There the store itself fails when the disk is full. */
async function readFreeBytes(folder: string): Promise<number> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk === undefined ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize;
}
