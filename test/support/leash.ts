/** A process of a test, and the folder that it alone uses. */
interface Leashed {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  readonly folder?: string;
}

/**
 * Ends a process when this one ends, however that comes about: a run that is cut short, or takes only some tests of a file, never
 * gets to its `afterAll`, and `bun test` ends without an exit event. A shell waits for the end of a pipe that only we hold.
 */
export function leash({ pid, exited, folder = "" }: Leashed, signal: "TERM" | "QUIT"): void {
  const script = `trap "" INT TERM
    cat >/dev/null
    kill -s ${signal} ${pid}
    for _ in 1 2 3 4 5 6 7 8 9 10; do kill -s 0 ${pid} || break; sleep 0.1; done
    rm -rf "$1"`;
  const holder = Bun.spawn(["sh", "-c", script, "sh", folder], { stdio: ["pipe", "ignore", "ignore"] });
  holder.unref();
  exited.finally(() => holder.kill("SIGKILL"));
}
