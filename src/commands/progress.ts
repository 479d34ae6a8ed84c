import { formatNumber, pluralize } from "../base/format.ts";
import { isTerminal } from "../base/terminal.ts";
import type { OnProgress } from "../jobs/work.ts";

const updateIntervalMs = 200;

/** Shows how much of a file has been read; nothing without a terminal. */
export interface ProgressLine {
  readonly show: OnProgress | undefined;
  /** Ends an unfinished line, so that the next output starts on a new line. */
  end(): void;
}

export function createProgressLine(): ProgressLine {
  if (!isTerminal()) return { show: undefined, end: () => {} };
  const terminal = process.stderr;
  let isOpen = false;
  let file: string | undefined;
  let startedAt = 0;
  let shownAt = 0;
  const show: OnProgress = ({ rows, done, total, isDone, ...progress }) => {
    const now = performance.now();
    if (progress.file !== file) [file, startedAt] = [progress.file, now];
    if (now - shownAt < updateIntervalMs && !isDone) return;
    shownAt = now;
    const seconds = Math.max(now - startedAt, 1) / 1000;
    const perSecond = formatNumber(Math.round(rows / seconds));
    const secondsLeft = Math.ceil((seconds * (total - done)) / done);
    const numbers = `${pluralize(rows, "row")}, ${perSecond} per second, ${isDone ? "done" : `${secondsLeft} s left`}`;
    const room = terminal.columns - 1 - numbers.length - ": ".length;
    // The end of a long path says more than its beginning.
    const name = file.length > room ? `…${file.slice(file.length - Math.max(room - 1, 10))}` : file;
    terminal.write(`\r${name}: ${numbers}\x1b[K${isDone ? "\n" : ""}`);
    isOpen = !isDone;
  };
  return { show, end: () => terminal.write(isOpen ? "\n" : "") };
}
