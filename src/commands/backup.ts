import { closeSync, fsyncSync, linkSync, lstatSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ServiceError } from "../base/errors.ts";
import { isUrl } from "../base/url.ts";
import { lowerPriority, type Values, withStore } from "./common.ts";
import { print, printJson } from "./output.ts";

/** Writes a copy of the embedded store, as of one moment, to a new file. */
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
  // It has its name only once it is complete.
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
      // A link to a disk that is not mounted exists, too. The others would be taken for parts of the backup.
      for (const name of ["", "-journal", "-wal", "-shm"].map((end) => path + end))
        if (lstatSync(name, { throwIfNoEntry: false }) !== undefined) throw exists(name);
      file.backUp(databaseUrl, partial);
      giveName(partial, path);
    } catch (cause) {
      rmSync(partial, { force: true });
      if (cause instanceof ServiceError) throw cause;
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

/** Renames a file, unlike `rename` without replacing one that has appeared meanwhile. */
export function giveName(partial: string, path: string): void {
  try {
    linkSync(partial, path);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? exists(path) : error;
  }
  rmSync(partial);
}

/** Lets a new name survive a power cut, as far as that is allowed. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, "r");
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // Its user may not list it, or its file system refuses; the file itself is complete.
  }
}

/**
 * Creates an empty file for its owner only: it will have everything that the store has.
 * @throws ServiceError `conflict` if there is one, which is another backup's
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
