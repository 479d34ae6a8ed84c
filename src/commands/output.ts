import { writeSync } from "node:fs";
import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { writeToStderr } from "../base/terminal.ts";
import { fileKey } from "../config/settings.ts";

// Writes synchronously, because creating Node's streams takes as long as a short command's start.

/** External text, such as a server's error, must not control the terminal. */
const escapeControls = (text: string) =>
  text.replace(/[^\P{Cc}\n\t]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Standard output was closed, for example by `head`. */
export class NoReaderError extends ServiceError {}

/** @throws ServiceError `unavailable` if output is lost, so that the command fails */
export function print(line: string): void {
  const bytes = new TextEncoder().encode(`${escapeControls(line)}\n`);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(1, bytes, written);
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      // A non-blocking pipe is full only briefly.
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
 * Converts field names, `finishedAt` to `finished_at`. Keys below `statuses` are a feed's codes.
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

/** All rows have the same keys. Hides credentials in URLs. */
export function printTable(rows: readonly Record<string, string | number>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => hideCredentials(`${row[column] ?? ""}`)))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, index) => cell.padEnd(widths[index] ?? 0));
    print(cells.join("  ").trimEnd());
  }
}
