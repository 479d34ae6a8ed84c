import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../errors.ts";
import { limitSize } from "../size.ts";
import type { FeedSource, SourceSettings } from "./source.ts";

/** A folder on this machine. */
export function folderSource(folder: string, { maxFileMegabytes }: SourceSettings): FeedSource {
  return {
    name: folder,
    // A file can change while its size and time stay the same.
    hasReliableVersions: false,
    stopsAtFirstMatch: false,
    findFile: async (fileName) => {
      const name = join(folder, fileName);
      const stats = await stat(name).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return undefined;
        throw new ServiceError("invalid_input", `${name}: ${cause.message}`, { cause });
      });
      if (stats === undefined) return undefined;
      if (!stats.isFile()) throw new ServiceError("invalid_input", `${name}: not a file`);
      const { size, mtimeMs } = stats;
      return { name, version: `${size} ${mtimeMs}`, changedAtMs: mtimeMs, ageMs: Date.now() - mtimeMs };
    },
    fetch: async ({ name }) => {
      limitSize(name, (await stat(name)).size, maxFileMegabytes);
      return name;
    },
  };
}
