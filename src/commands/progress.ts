import type { OnProgress } from "../jobs/work.ts";
import { isTerminal } from "../terminal.ts";

/** How often the line is written anew. */
const intervalMs = 200;

/** A line on a terminal that tells how far a file has been read; elsewhere it is silent. */
export interface ProgressLine {
  readonly show: OnProgress | undefined;
  /** Ends what is unfinished, so that what follows has a line of its own. */
  end(): void;
}

export function progressLine(): ProgressLine {
  if (!isTerminal()) return { show: undefined, end: () => {} };
  const terminal = process.stderr;
  let isOpen = false;
  let file: string | undefined;
  let begunAt = 0;
  let shownAt = 0;
  const show: OnProgress = ({ rows, bytes, totalBytes, isDone, ...progress }) => {
    const now = performance.now();
    if (progress.file !== file) [file, begunAt] = [progress.file, now];
    if (now - shownAt < intervalMs && !isDone) return;
    shownAt = now;
    const seconds = Math.max(now - begunAt, 1) / 1000;
    const perSecond = Math.round(rows / seconds).toLocaleString("en");
    const left = Math.ceil((seconds * (totalBytes - bytes)) / bytes);
    const numbers = `${rows.toLocaleString("en")} rows, ${perSecond} a second, ${isDone ? "read" : `${left} s left`}`;
    const room = terminal.columns - 1 - numbers.length - ": ".length;
    // Of a long path the end tells more than the beginning.
    const name = file.length > room ? `…${file.slice(file.length - Math.max(room - 1, 10))}` : file;
    terminal.write(`\r${name}: ${numbers}\x1b[K${isDone ? "\n" : ""}`);
    isOpen = !isDone;
  };
  return { show, end: () => terminal.write(isOpen ? "\n" : "") };
}
