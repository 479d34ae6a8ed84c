import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isUrl } from "../config/values.ts";
import { ServiceError } from "../errors.ts";
import { lowerPriority, type Values, withStore } from "./common.ts";
import { print, printJson } from "./output.ts";

/** Writes a copy of the embedded store, as of one moment, to a new file. */
export async function backup(path: string, values: Values): Promise<boolean> {
  if (isUrl(path)) throw new ServiceError("bad_request", `backup: expected a file, not the URL ${path}`);
  if (path === "") throw new ServiceError("bad_request", "backup: expected the name of a file");
  if (existsSync(path)) throw new ServiceError("bad_request", `backup: ${path} exists; choose another name`);
  // It has its name only once it is complete.
  const partial = `${path}.partial`;
  await withStore(async ({ engine }, { databaseUrl }) => {
    if (engine.backUp === undefined) {
      throw new ServiceError(
        "bad_request",
        "backup: DATABASE_URL is a server, which has its own tools; the guide has their commands",
      );
    }
    lowerPriority();
    if (existsSync(partial)) {
      throw new ServiceError(
        "conflict",
        `backup: ${partial} exists: another backup is in progress, or was killed; then remove the file`,
      );
    }
    try {
      engine.backUp(databaseUrl, partial);
      renameSync(partial, path);
      const folder = openSync(dirname(path), "r");
      fsyncSync(folder);
      closeSync(folder);
    } catch (cause) {
      rmSync(partial, { force: true });
      throw new ServiceError("unavailable", `backup: cannot write ${path}: ${(cause as Error).message}`, { cause });
    }
  });
  const { size } = statSync(path);
  if (values.json === true) printJson({ backup: path, bytes: size });
  else print(`backed up the store to ${path}: ${size} bytes`);
  return true;
}
