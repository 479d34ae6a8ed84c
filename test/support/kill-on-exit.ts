/** A process started by a test, with the folder that only it uses. */
interface StartedProcess {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  readonly folder?: string;
}

/**
 * Kills a process when this one exits for any reason: an interrupted or filtered run does not reach
 * `afterAll`, and `bun test` emits no exit event. A shell waits for the end of a pipe that only
 * this process holds open.
 */
export function killOnExit({ pid, exited, folder = "" }: StartedProcess, signal: "TERM" | "QUIT"): void {
  const script = `trap "" INT TERM
    cat >/dev/null
    kill -s ${signal} ${pid}
    for _ in 1 2 3 4 5 6 7 8 9 10; do kill -s 0 ${pid} || break; sleep 0.1; done
    rm -rf "$1"`;
  const holder = Bun.spawn(["sh", "-c", script, "sh", folder], { stdio: ["pipe", "ignore", "ignore"] });
  holder.unref();
  exited.finally(() => holder.kill("SIGKILL"));
}
