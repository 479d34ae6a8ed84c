import { fstatSync, writeSync } from "node:fs";

/** The cheap check comes first, because `process.stderr` is slow to create. */
export function isTerminal(): boolean {
  try {
    return fstatSync(2).isCharacterDevice() && process.stderr.isTTY === true;
  } catch {
    // Standard error is closed.
    return false;
  }
}

/** How long a full pipe may block this process. */
const patienceMs = 100;

/** Drops text that cannot be written: a full disk or a closed pipe must not end the service. */
export function writeToStderr(data: string | Uint8Array): void {
  const bytes = Buffer.from(data);
  const giveUpAt = performance.now() + patienceMs;
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(2, bytes, written);
    } catch (error) {
      // A non-blocking pipe is full only briefly.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || performance.now() > giveUpAt) return;
      Bun.sleepSync(1);
    }
  }
}
