import { writeSync } from "node:fs";
import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { writeToStderr } from "../base/terminal.ts";
import { fileKey } from "../config/settings.ts";

// Synchronous writes, because creating Node's streams takes as long as the rest of a short
// command's start.

/** Text of others, such as the reason of a server, must not control the reader's terminal. */
const escapeControls = (text: string) =>
  text.replace(/[^\P{Cc}\n\t]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The reader of standard output has gone, as `head` goes once it has its lines. */
export class NoReaderError extends ServiceError {}

/**
 * Prints data to standard output.
 * @throws ServiceError `unavailable` if it is lost, so that the command fails
 */
export function print(line: string): void {
  const bytes = new TextEncoder().encode(`${escapeControls(line)}\n`);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(1, bytes, written);
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      // A pipe that does not block is full for a moment.
      if (code === "EAGAIN") Bun.sleepSync(1);
      else {
        const LostError = code === "EPIPE" ? NoReaderError : ServiceError;
        throw new LostError("unavailable", `cannot write to standard output: ${message}`, { cause });
      }
    }
  }
}

/** Prints a message to standard error, without the credentials in URLs. */
export function printMessage(line: string): void {
  writeToStderr(`${escapeControls(hideCredentials(line))}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/**
 * Gives fields their names of the wire, `finished_at` for `finishedAt`. Below `statuses`, the keys
 * are status codes of a feed.
 */
export function toSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnakeCase);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [fileKey(name), name === "statuses" ? field : toSnakeCase(field)]),
  );
}

/** Prints JSON without the credentials in URLs, for settings, runs, and reports. */
export function printSafeJson(value: unknown): void {
  printJson(JSON.parse(JSON.stringify(value), hideInText));
}

const hideInText = (_: string, value: unknown) => (typeof value === "string" ? hideCredentials(value) : value);

/**
 * Prints rows with the same keys as aligned columns with a header, without the credentials in URLs.
 */
export function printTable(rows: readonly Record<string, string | number>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => hideCredentials(`${row[column] ?? ""}`)))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, index) => cell.padEnd(widths[index] ?? 0));
    print(cells.join("  ").trimEnd());
  }
}
