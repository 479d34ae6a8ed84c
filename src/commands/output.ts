import { writeSync } from "node:fs";

// The streams of Node take as long to be made as everything else that a short command needs to begin.

/** Data goes to standard output … */
export function print(line: string): void {
  // biome-ignore lint/suspicious/noConsole: this is its place
  console.log(line);
}

/** … and messages to standard error. */
export function tell(line: string): void {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // Nobody listens any more, or too slowly: a message is not worth failing for.
  }
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** Rows with the same keys as aligned columns under their names. */
export function printTable(rows: readonly Record<string, string | number>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => `${row[column] ?? ""}`))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  for (const line of lines)
    print(
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}
