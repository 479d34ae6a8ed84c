import { closeSync, openSync, readlinkSync, writeSync } from "node:fs";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceError } from "./errors.ts";

const kinds = ["feed", "bulk", "import"] as const;

/** A folder for downloads; one that a killed process left behind is removed by the next process that makes one. */
export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** Longer than any run may take: a folder this old has no owner, even if another process has its number by now. */
const abandonedMs = 8 * 86_400_000;

/** @throws ServiceError `unavailable` when none can be made. */
export async function createTemporaryFolder(kind: (typeof kinds)[number]): Promise<TemporaryFolder> {
  const parent = tmpdir();
  // Litter must not keep a run from its work.
  await removeLitter(parent).catch(() => {});
  try {
    const path = await mkdtemp(join(parent, `pds-${kind}-${process.pid}-${machine()}-`));
    return { path, remove: () => rm(path, { recursive: true, force: true }) };
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    throw (
      toDiskFull(cause, parent) ??
      new ServiceError(
        "unavailable",
        `${parent}: cannot make a temporary folder there (${code || message}): set TMPDIR to a folder that can be written`,
        { cause },
      )
    );
  }
}

async function removeLitter(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!kinds.some((kind) => name.startsWith(`pds-${kind}-`))) continue;
    const path = join(parent, name);
    await removeIfLitter(path, name).catch(() => {});
  }
}

async function removeIfLitter(path: string, name: string): Promise<void> {
  const [, pid, owner] = name.match(/^pds-[a-z]+-(\d+)-([\da-z]+)-\w{6}$/) ?? [];
  const found = await lstat(path);
  // The temporary folder is everybody's.
  if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return;
  const isOrphan = pid !== undefined && owner === machine() && !isAlive(Number(pid));
  if (!isOrphan && Date.now() - found.mtimeMs < abandonedMs) return;
  await rm(path, { recursive: true, force: true });
}

/** Tells apart machines and containers that share a temporary folder: a process number means nothing to another. */
function machine(): string {
  let processes = "";
  try {
    processes = readlinkSync("/proc/self/ns/pid");
  } catch {
    // Only Linux has it.
  }
  return Bun.hash(`${hostname()} ${processes}`).toString(36);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/**
 * A file in a temporary folder, written from its beginning. The runtime's own writer doesn't always report that the disk is
 * full to its caller, and then the process ends.
 */
export class TemporaryFile implements Disposable {
  readonly path: string;
  #descriptor: number | undefined;
  #pending: Uint8Array[] = [];

  /** @throws ServiceError `unavailable` when it cannot be made. */
  constructor(path: string) {
    this.path = path;
    this.#descriptor = this.#orFull(() => openSync(path, "w"));
  }

  /** Takes a copy of the bytes, which {@link flush} writes. */
  add(bytes: Uint8Array): void {
    this.#pending.push(Uint8Array.from(bytes));
  }

  /** @throws ServiceError `unavailable` when the disk is full. */
  flush(): void {
    if (this.#pending.length === 0) return;
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.write(bytes);
  }

  /** @throws ServiceError `unavailable` when the disk is full. */
  write(bytes: Uint8Array): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#orFull(() => {
      // A disk that becomes full takes a part first.
      for (let written = 0; written < bytes.length; ) {
        written += writeSync(descriptor, bytes, written, bytes.length - written);
      }
    });
  }

  /** Closes the file without writing what is left. */
  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #orFull<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toDiskFull(error, tmpdir()) ?? error;
    }
  }
}

/** Writes a stream to a file in a temporary folder. @returns how many bytes it was */
export async function saveStream(stream: AsyncIterable<Uint8Array>, path: string): Promise<number> {
  using file = new TemporaryFile(path);
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    file.write(chunk);
  }
  return bytes;
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the disk quota is used up",
  EFBIG: "a file has reached the size that this process may write",
};

/** @returns undefined when the error is about something else */
function toDiskFull(error: unknown, folder: string): ServiceError | undefined {
  const { code = "" } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (reason === undefined) return undefined;
  const message = `the temporary folder ${folder} is full: ${reason} (${code}); free some space, or set TMPDIR to another folder`;
  return new ServiceError("unavailable", message, { cause: error });
}
