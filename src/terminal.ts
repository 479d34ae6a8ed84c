import { fstatSync } from "node:fs";

/** Whether standard error is a terminal. Mostly it is not even a device: that is known without what the runtime needs for terminals. */
export function isTerminal(): boolean {
  try {
    return fstatSync(2).isCharacterDevice() && process.stderr.isTTY === true;
  } catch {
    // It has been closed.
    return false;
  }
}
