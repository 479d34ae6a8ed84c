import { writeSync } from "node:fs";
import { hideCredentials } from "../credentials.ts";

// The streams of Node take as long to be made as everything else that a short command needs to begin.

/** Data goes to standard output … */
export function print(line: string): void {
  // biome-ignore lint/suspicious/noConsole: this is its place
  console.log(line);
}

/** … and messages to standard error, without the credentials of addresses in them. */
export function printMessage(line: string): void {
  try {
    writeSync(2, `${hideCredentials(line)}\n`);
  } catch {
    // Nobody listens any more, or too slowly: a message is not worth failing for.
  }
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** The same for what came from outside: settings, runs, reports. */
export function printSafeJson(value: unknown): void {
  printJson(JSON.parse(JSON.stringify(value), hideInText));
}

const hideInText = (_: string, value: unknown) => (typeof value === "string" ? hideCredentials(value) : value);

/** Rows with the same keys as aligned columns under their names, without the credentials of addresses in them. */
export function printTable(rows: readonly Record<string, string | number>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => hideCredentials(`${row[column] ?? ""}`)))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  for (const line of lines)
    print(
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}
