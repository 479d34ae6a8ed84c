import { fstatSync } from "node:fs";

/**
 * Whether standard error is a terminal. The cheap check comes first, because `process.stderr` is
 * slow to create.
 */
export function isTerminal(): boolean {
  try {
    return fstatSync(2).isCharacterDevice() && process.stderr.isTTY === true;
  } catch {
    // Standard error is closed.
    return false;
  }
}
