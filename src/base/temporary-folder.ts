import { closeSync, mkdtempSync, openSync, readFileSync, readlinkSync, writeSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceError } from "./errors.ts";

const kinds = ["feed", "bulk", "import", "backup"] as const;

/** If the process is killed, {@link removeOrphanedFolders} removes it. */
export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** Longer than any run, so an older folder of another machine has no owner. */
const abandonedMs = 8 * 86_400_000;

/** @throws ServiceError `unavailable` if the folder cannot be created */
export async function createTemporaryFolder(kind: (typeof kinds)[number]): Promise<TemporaryFolder> {
  await removeOrphanedFolders();
  return createTemporaryFolderSync(kind);
}

/**
 * Like {@link createTemporaryFolder}, but synchronous, and leaves the folders of killed processes.
 * @throws ServiceError `unavailable` if the folder cannot be created
 */
export function createTemporaryFolderSync(kind: (typeof kinds)[number]): TemporaryFolder {
  const parent = tmpdir();
  try {
    const path = mkdtempSync(join(parent, `pds-${kind}-${process.pid}-${startOf("self")}-${machine()}-`));
    return { path, remove: () => rm(path, { recursive: true, force: true }) };
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    throw (
      toDiskFull(cause, parent) ??
      new ServiceError(
        "unavailable",
        `${parent}: cannot create a temporary folder (${code || message}); set TMPDIR to a writable folder`,
        { cause },
      )
    );
  }
}

/** Removes the folders of killed processes. Ignores errors, because no run depends on it. */
export async function removeOrphanedFolders(): Promise<void> {
  const parent = tmpdir();
  for (const name of await readdir(parent).catch(() => [])) {
    if (!kinds.some((kind) => name.startsWith(`pds-${kind}-`))) continue;
    const path = join(parent, name);
    await removeIfOrphan(path, name).catch(() => {});
  }
}

async function removeIfOrphan(path: string, name: string): Promise<void> {
  const [, pid, start, owner] = name.match(/^pds-[a-z]+-(\d+)-(\d+)-([\da-z]+)-\w{6}$/) ?? [];
  const found = await lstat(path);
  // Other users share the temporary folder.
  if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return;
  const isOwn = pid !== undefined && owner === machine();
  // On the same machine, the age means nothing, because the clock may have been set.
  if (isOwn ? isAlive(Number(pid)) && startOf(pid) === start : Date.now() - found.mtimeMs < abandonedMs) return;
  await rm(path, { recursive: true, force: true });
}

/** Identifies the machine or container in which a process id is valid. */
function machine(): string {
  let processes = "";
  try {
    processes = readlinkSync("/proc/self/ns/pid");
  } catch {
    // Only Linux has namespaces.
  }
  return Bun.hash(`${hostname()} ${processes}`).toString(36);
}

/** When a local process started, in ticks since boot, because ids are reused; 0 if unknown. */
function startOf(pid: string): string {
  try {
    // The program's name, in parentheses, may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ");
    return fields?.[19] ?? "0";
  } catch {
    return "0";
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The runtime's own writer may exit the process on a full disk instead of reporting it. */
export class TemporaryFile implements Disposable {
  readonly path: string;
  #descriptor: number | undefined;
  #pending: Uint8Array[] = [];

  /** @throws ServiceError `unavailable` if the disk is full */
  constructor(path: string) {
    this.path = path;
    this.#descriptor = this.#explainFull(() => openSync(path, "w"));
  }

  add(bytes: Uint8Array): void {
    this.#pending.push(Uint8Array.from(bytes));
  }

  /** @throws ServiceError `unavailable` if the disk is full */
  flush(): void {
    if (this.#pending.length === 0) return;
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.write(bytes);
  }

  /** @throws ServiceError `unavailable` if the disk is full */
  write(bytes: Uint8Array): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#explainFull(() => {
      // A nearly full disk accepts a part first.
      for (let written = 0; written < bytes.length; ) {
        written += writeSync(descriptor, bytes, written, bytes.length - written);
      }
    });
  }

  /** Does not flush. */
  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #explainFull<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toDiskFull(error, tmpdir()) ?? error;
    }
  }
}

/**
 * @param onBytes receives the number of bytes so far, before they are written
 * @returns the number of bytes
 */
export async function saveStream(
  stream: AsyncIterable<Uint8Array>,
  path: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<number> {
  using file = new TemporaryFile(path);
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    onBytes(bytes);
    file.write(chunk);
  }
  return bytes;
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the disk quota is used up",
  EFBIG: "a file has reached the size limit of this process",
};

function toDiskFull(error: unknown, folder: string): ServiceError | undefined {
  const { code = "" } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (reason === undefined) return undefined;
  const message = `the temporary folder ${folder} is full: ${reason} (${code}); free some space, or set TMPDIR to another folder`;
  return new ServiceError("unavailable", message, { cause: error });
}
