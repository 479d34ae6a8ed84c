/**
 * Runs a job as `pds run JOB` in a process of its own: its memory goes with it, and its crash stays there.
 * What it says goes to standard error.
 * @throws Error when it ends with anything but success.
 */
export async function runJobProcess(job: string, signal: AbortSignal): Promise<void> {
  const child = Bun.spawn([...thisProgram(), "run", job], {
    stdin: "ignore",
    stdout: process.stderr.fd,
    stderr: "inherit",
    signal,
    killSignal: "SIGTERM",
  });
  const code = await child.exited;
  if (code !== 0) throw new Error(`pds run ${job} ended with ${child.signalCode ?? code}`);
}

/** How this very program was started: the runtime with its script, or the one executable that holds both. */
function thisProgram(): string[] {
  return Bun.embeddedFiles.length > 0 || Bun.main.startsWith("/$bunfs/")
    ? [process.execPath]
    : [process.execPath, Bun.main];
}
