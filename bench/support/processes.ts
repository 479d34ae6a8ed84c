import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Clock tick of Linux process times (USER_HZ) in seconds, the same on every machine. */
const tickS = 0.01;

/**
 * A process from `/proc/PID/stat`: CPU seconds of all its threads, and of its exited
 * children.
 */
interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly ended: number;
}

/** @returns undefined without such a process or without /proc */
function findStat(pid: number): Stat | undefined {
  try {
    // The process name before the parenthesis may contain anything.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [, parent, ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [own = 0, ownSystem = 0, ended = 0, endedSystem = 0] = fields.slice(9, 13).map(Number);
    // Exact, but without threads that ended. Both are at most what the process took.
    const threadsS = readdirSync(`/proc/${pid}/task`).map((thread) => nanosecondsOf(`${pid}/task/${thread}`) / 1e9);
    return {
      parent: Number(parent),
      own: Math.max(
        (own + ownSystem) * tickS,
        threadsS.reduce((sum, seconds) => sum + seconds, 0),
      ),
      ended: (ended + endedSystem) * tickS,
    };
  } catch {
    return undefined;
  }
}

/** CPU time of a thread; 0 if it ended, or the kernel does not count it. */
function nanosecondsOf(thread: string): number {
  try {
    return Number.parseInt(readFileSync(`/proc/${thread}/schedstat`, "latin1"), 10);
  } catch {
    return 0;
  }
}

/** CPU seconds of a process and its descendants so far; NaN if the system does not report them. */
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
  let seconds = 0;
  for (const [of, { own, ended }] of stats) if (isWithin(of)) seconds += own + ended;
  return seconds;
}

/** @returns 0 if there is no such process */
export const parentOf = (pid: number): number => findStat(pid)?.parent ?? 0;

/** Command prefix that pins a command to one core; empty if that is not possible here. */
export function onCore(core: number): readonly string[] {
  const canPin = process.platform === "linux" && availableParallelism() > 1 && Bun.which("taskset") !== null;
  return canPin ? ["taskset", "-c", `${core}`] : [];
}

/** Core of the servers, and core of the load generator. */
export const serverCore = 0;
export const loadCore = 1;
