import { statSync } from "node:fs";
import { dirname, join } from "node:path";

export const failed = 1;
/** Exit status when another version created the store. */
export const otherSchema = 3;

const isExecutable = Bun.embeddedFiles.length > 0 || Bun.main.startsWith("/$bunfs/");

/** The runtime with its script, or the executable that contains both. */
export function thisProgram(): string[] {
  return isExecutable ? [process.execPath] : [process.execPath, Bun.main];
}

const files = isExecutable
  ? [process.execPath]
  : [process.execPath, Bun.main, join(dirname(Bun.main), "..", "package.json")];

function sign(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeMs}`;
}

const signatures = files.map(sign);

/** Why this program must not start another process of itself; undefined if it may. */
export function findReplacement(): string | undefined {
  const index = files.findIndex((path, position) => sign(path) !== signatures[position]);
  if (index < 0) return undefined;
  return `${files[index]} was replaced while this process runs; restart the service to run the new version`;
}
