import { closeSync, fsyncSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { firstLine } from "../database/transfer/write-archive.ts";
import { ServiceError } from "../errors.ts";

/**
 * A file that has its name only once it is complete. It is written beside it, so that a killed
 * backup leaves the former one.
 */
export class BackupFile implements Disposable {
  /** Where it is until it is published. */
  readonly path: string;
  readonly #name: string;
  #descriptor: number | undefined;
  #isPublished = false;

  /** @throws ServiceError when the file cannot be written, or another file has the name */
  constructor(name: string) {
    this.#name = name;
    this.#explain(() => requireBackup(name));
    this.path = `${name}.partial`;
    // It has everything that the store has.
    this.#descriptor = this.#explain(() => openSync(this.path, "w", 0o600));
  }

  write(bytes: Uint8Array): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) throw new Error("the file is closed");
    this.#explain(() => {
      for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
    });
  }

  /** Lets it be read, and makes it last. */
  flush(): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#explain(() => fsyncSync(descriptor));
    this.#close();
  }

  publish(): void {
    this.#explain(() => renameSync(this.path, this.#name));
    this.#isPublished = true;
    const folder = openSync(dirname(this.#name), "r");
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  }

  [Symbol.dispose](): void {
    this.#close();
    if (!this.#isPublished) rmSync(this.path, { force: true });
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
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

/** @throws ServiceError `bad_request` for a name that is not that of a backup, or free */
function requireBackup(name: string): void {
  const found = statSync(name, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isFile() && (found.size === 0 || beginOf(name) === firstLine)) return;
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
