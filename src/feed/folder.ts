import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../base/errors.ts";
import { limitSize } from "../base/size.ts";
import { versionOfFile } from "./file.ts";
import type { FeedSource, SourceSettings } from "./source.ts";

export function folderSource(folder: string, { maxFileMegabytes }: SourceSettings): FeedSource {
  return {
    name: folder,
    // A file can change while its size and times stay the same.
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
      // A copy may keep the sender's modification time, and a link may be newer than its file.
      const changedAtMs = Math.max(stats.ctimeMs, (await lstat(name)).ctimeMs);
      return { name, version: versionOfFile(stats), changedAtMs };
    },
    fetch: async ({ name, version }) => {
      const stats = await stat(name).catch(() => undefined);
      if (stats === undefined || versionOfFile(stats) !== version) return undefined;
      limitSize(name, stats.size, maxFileMegabytes);
      return name;
    },
  };
}
