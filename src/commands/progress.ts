import type { OnProgress } from "../jobs/work.ts";

/** How often the line is written anew. */
const intervalMs = 200;

/** A line on a terminal that tells how far a file has been read; elsewhere there is none. */
export function progressLine(terminal: NodeJS.WriteStream): OnProgress | undefined {
  // The service gives its jobs its own terminal to write to, and nobody at the keyboard: there it would only be in the way.
  if (!terminal.isTTY || !process.stdin.isTTY) return undefined;
  let file: string | undefined;
  let begunAt = 0;
  let shownAt = 0;
  return ({ rows, bytes, totalBytes, isDone, ...progress }) => {
    const now = performance.now();
    if (progress.file !== file) [file, begunAt] = [progress.file, now];
    if (now - shownAt < intervalMs && !isDone) return;
    shownAt = now;
    const seconds = Math.max(now - begunAt, 1) / 1000;
    const perSecond = Math.round(rows / seconds).toLocaleString("en");
    const left = Math.ceil((seconds * (totalBytes - bytes)) / bytes);
    const text = `${file}: ${rows.toLocaleString("en")} rows, ${perSecond} a second, ${isDone ? "read" : `${left} s left`}`;
    terminal.write(`\r${text.slice(0, terminal.columns - 1)}\x1b[K${isDone ? "\n" : ""}`);
  };
}
