import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { PersonalizationOptions } from "../config.ts";
import { ServiceError } from "../errors.ts";
import type { FoundFile, Origin } from "./delivery.ts";
import { type ListName, listNames, missing, namesOf } from "./lists.ts";

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
    find: async (marker) => {
      const found = {} as Record<ListName, FoundFile>;
      for (const list of listNames) {
        const there = (await Promise.all(namesOf(list, options).map(look))).filter((file) => file !== undefined);
        const [file, second] = there;
        if (file === undefined) throw new ServiceError("invalid_input", `${folder}: ${missing(list, options)}`);
        if (second !== undefined) {
          const names = there.map(({ name }) => name).join(" and ");
          throw new ServiceError("invalid_input", `${folder}: both ${names} are there`);
        }
        found[list] = file;
      }
      return { files: found, marker: marker === undefined ? undefined : await look(marker) };
    },
    fetch: async ({ name }) => name,
  };
}
