import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { PersonalizationOptions } from "../config/index.ts";
import { ServiceError } from "../errors.ts";
import type { FoundFile, Origin } from "./delivery.ts";
import { findLists } from "./lists.ts";

/** A folder on this machine. */
export function folderOrigin(folder: string, options: PersonalizationOptions): Origin {
  const look = async (name: string): Promise<FoundFile | undefined> => {
    const found = await stat(join(folder, name)).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return undefined;
      throw new ServiceError("invalid_input", `${join(folder, name)}: ${cause.message}`, { cause });
    });
    if (found === undefined) return undefined;
    if (!found.isFile()) throw new ServiceError("invalid_input", `${join(folder, name)}: not a file`);
    const { size, mtimeMs } = found;
    return {
      name: join(folder, name),
      version: `${size} ${mtimeMs}`,
      changedAtMs: mtimeMs,
      ageMs: Date.now() - mtimeMs,
    };
  };
  return {
    name: folder,
    // A file's size and time can stay while its content changes: only the content itself tells.
    versionsTell: false,
    find: async (marker) => ({
      files: await findLists(options, folder, look),
      marker: marker === undefined ? undefined : await look(marker),
    }),
    fetch: async ({ name }) => name,
  };
}
