import {
  closeSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { firstLine } from "../database/transfer/write-archive.ts";
import { ServiceError } from "../errors.ts";

/**
 * A file that has its name only once it is complete. It is written beside it, so that a killed
 * backup leaves the former one. Of two processes that write the same one, the later wins.
 */
export class BackupFile implements Disposable {
  /** Where it is until it is published. */
  readonly path: string;
  readonly #name: string;
  /** The name, or what it is a symbolic link to. */
  readonly #target: string;
  /** Open until the end, so that no other file gets the same number. */
  #descriptor: number | undefined;

  /** @throws ServiceError when another file has the name */
  constructor(name: string) {
    this.#name = name;
    this.#target = this.#explain(() => requireBackup(name));
    this.path = `${this.#target}.partial`;
  }

  /** Creates the file if nothing was written before: a backup that waits for its turn has none. */
  write(bytes: Uint8Array): void {
    this.#explain(() => {
      this.#descriptor ??= this.#create();
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#descriptor, bytes, written);
    });
  }

  /** Lets it be read, and makes it last. */
  flush(): void {
    const descriptor = this.#descriptor;
    if (descriptor !== undefined) this.#explain(() => fsyncSync(descriptor));
  }

  /** @throws ServiceError `unavailable` when another process has begun to write the same file */
  requireOwn(): void {
    if (this.#isOwn()) return;
    throw new ServiceError("unavailable", `cannot write ${this.#name}: another backup to it has begun meanwhile`);
  }

  publish(): void {
    this.requireOwn();
    this.#explain(() => {
      renameSync(this.path, this.#target);
      const folder = openSync(dirname(this.#target), "r");
      try {
        fsyncSync(folder);
      } finally {
        closeSync(folder);
      }
    });
  }

  [Symbol.dispose](): void {
    if (this.#descriptor === undefined) return;
    if (this.#isOwn()) rmSync(this.path, { force: true });
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #create(): number {
    // That of a killed backup, or of one that goes on: it notices that the file is no longer its own.
    rmSync(this.path, { force: true });
    // It has everything that the store has.
    return openSync(this.path, "wx", 0o600);
  }

  #isOwn(): boolean {
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (found === undefined || this.#descriptor === undefined) return false;
    const { dev, ino } = fstatSync(this.#descriptor);
    return found.dev === dev && found.ino === ino;
  }

  #explain<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof ServiceError) throw cause;
      const { code, message } = cause as NodeJS.ErrnoException;
      const reason = code === "ENOSPC" ? "no space left on the disk (ENOSPC)" : message;
      throw new ServiceError("unavailable", `cannot write ${this.#name}: ${reason}`, { cause });
    }
  }
}

/**
 * @returns the path of the file
 * @throws ServiceError `bad_request` for a name that is not that of a backup, or free
 */
function requireBackup(name: string): string {
  if (name === "") throw new ServiceError("bad_request", "backup: expected the name of a file");
  const found = statSync(name, { throwIfNoEntry: false });
  if (found === undefined) {
    // A link to a disk that is not mounted must not be replaced by a file on this one.
    const isLink = lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? resolve(dirname(name), readlinkSync(name)) : name;
  }
  if (found.isFile() && (found.size === 0 || beginOf(name) === firstLine)) return realpathSync(name);
  throw new ServiceError("bad_request", `${name} exists and is not a backup; choose another name`);
}

function beginOf(path: string): string {
  const bytes = Buffer.alloc(firstLine.length);
  const descriptor = openSync(path, "r");
  try {
    return bytes.subarray(0, readSync(descriptor, bytes)).toString("latin1");
  } finally {
    closeSync(descriptor);
  }
}
