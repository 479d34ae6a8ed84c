import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Seconds of one tick of the clock that Linux counts a process's time by, which is the same on every machine. */
const tickS = 0.01;

/** One process as `/proc/PID/stat` tells: times in ticks, its own with all threads, and of its children that have ended. */
interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly ended: number;
}

/** @returns undefined when there is no such process, or no such file on this system */
function findStat(pid: number): Stat | undefined {
  try {
    // The name before the parenthesis may hold anything.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [, parent, ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [own = 0, ownSystem = 0, ended = 0, endedSystem = 0] = fields.slice(9, 13).map(Number);
    return { parent: Number(parent), own: own + ownSystem, ended: ended + endedSystem };
  } catch {
    return undefined;
  }
}

/** Seconds of CPU that a process and its descendants have used so far, as the system counts them; NaN where it does not. */
export function cpuSecondsOf(pid: number): number {
  const root = findStat(pid);
  if (root === undefined) return Number.NaN;
  const stats = new Map(
    readdirSync("/proc").flatMap((name) => {
      const stat = /^\d+$/.test(name) ? findStat(Number(name)) : undefined;
      return stat === undefined ? [] : [[Number(name), stat] as const];
    }),
  );
  const isWithin = (of: number): boolean => of === pid || (of > 1 && isWithin(stats.get(of)?.parent ?? 0));
  let ticks = 0;
  for (const [of, { own, ended }] of stats) if (isWithin(of)) ticks += own + ended;
  return ticks * tickS;
}

/** @returns 0 when there is no such process */
export const parentOf = (pid: number): number => findStat(pid)?.parent ?? 0;

/** What comes before a command so that it keeps to one core; nothing where that cannot be said. */
export function onCore(core: number): readonly string[] {
  const canPin = process.platform === "linux" && availableParallelism() > 1 && Bun.which("taskset") !== null;
  return canPin ? ["taskset", "-c", `${core}`] : [];
}

/** The core of whoever serves, and the one of whoever asks. */
export const serverCore = 0;
export const loadCore = 1;
