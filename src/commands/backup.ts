import { closeSync, fsyncSync, linkSync, lstatSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ServiceError } from "../base/errors.ts";
import { isUrl } from "../base/url.ts";
import { isDamage } from "../database/index.ts";
import { lowerPriority, type Values, withStore } from "./common.ts";
import { print, printJson } from "./output.ts";

export async function backup(name: string, values: Values): Promise<boolean> {
  if (isUrl(name)) throw new ServiceError("bad_request", `backup: expected a file, not the URL ${name}`);
  if (name === "" || name.endsWith("/")) throw new ServiceError("bad_request", "backup: expected the name of a file");
  if (/-(journal|wal|shm)$/.test(name)) {
    throw new ServiceError(
      "bad_request",
      `backup: ${name} may be taken for a part of another file; choose another name`,
    );
  }
  // The driver ignores a space at the start.
  const path = resolve(name);
  // Only a complete copy gets its final name.
  const partial = `${path}.partial`;
  await withStore(async ({ engine: { file } }, { databaseUrl }) => {
    if (file === undefined) {
      throw new ServiceError(
        "bad_request",
        "backup: DATABASE_URL is a server, which has its own tools; the guide has their commands",
      );
    }
    lowerPriority();
    createFile(partial, path);
    try {
      // A link whose target is missing exists, too. The others would be taken for parts of the
      // backup.
      for (const name of ["", "-journal", "-wal", "-shm"].map((end) => path + end))
        if (lstatSync(name, { throwIfNoEntry: false }) !== undefined) throw exists(name);
      file.backUp(databaseUrl, partial);
      giveName(partial, path);
    } catch (cause) {
      rmSync(partial, { force: true });
      // The caller explains a failure of the store.
      if (cause instanceof ServiceError || isDamage(cause)) throw cause;
      throw new ServiceError("unavailable", `backup: cannot write ${path}: ${(cause as Error).message}`, { cause });
    }
  });
  syncFolder(dirname(path));
  const { size } = statSync(path);
  if (values.json === true) printJson({ backup: path, bytes: size });
  else print(`backed up the store to ${path}: ${size} bytes`);
  return true;
}

const exists = (path: string) => new ServiceError("bad_request", `backup: ${path} exists; choose another name`);

/** Unlike `rename`, does not replace a file that has appeared meanwhile. */
export function giveName(partial: string, path: string): void {
  try {
    linkSync(partial, path);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? exists(path) : error;
  }
  rmSync(partial);
}

/** Lets the new name survive a power cut, if possible. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, "r");
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // This user may not read the folder, or its file system refuses; the file itself is complete.
  }
}

/**
 * Creates an empty file that only its owner can read.
 * @throws ServiceError `conflict` if it exists, because of another backup
 */
function createFile(partial: string, path: string): void {
  try {
    closeSync(openSync(partial, "wx", 0o600));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new ServiceError("unavailable", `backup: cannot write ${path}: ${message}`, { cause });
    throw new ServiceError(
      "conflict",
      `backup: ${partial} exists: another backup is in progress, or was killed; then remove the file`,
    );
  }
}
