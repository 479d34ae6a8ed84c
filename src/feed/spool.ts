import { mkdtemp, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const prefix = "pds-feed-";

/** A folder for what is downloaded; one that a killed process left behind is removed by the next that makes one. */
export interface Spool {
  readonly folder: string;
  remove(): Promise<void>;
}

export async function createSpool(): Promise<Spool> {
  for (const name of await readdir(tmpdir())) {
    const owner = name.match(/^pds-feed-(\d+)-/)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await remove(join(tmpdir(), name));
  }
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  return { folder, remove: () => remove(folder) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

/** Writes what comes to a file, no faster than the disk takes it. @returns how many bytes it was */
export async function save(stream: AsyncIterable<Uint8Array>, path: string): Promise<number> {
  const writer = Bun.file(path).writer();
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      writer.write(chunk);
      await writer.flush();
    }
  } finally {
    await writer.end();
  }
  // What an earlier try left there may be longer, and the writer does not cut it off.
  await truncate(path, bytes);
  return bytes;
}
