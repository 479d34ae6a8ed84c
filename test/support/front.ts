import { answers, Program } from "./program.ts";

/**
 * Starts a load balancer or a shared cache in the foreground, until the end of the test file, and
 * waits until it passes requests on.
 */
export async function startFront(command: readonly string[], port: number): Promise<string> {
  const url = `http://127.0.0.1:${port}`;
  await new Program(command, () => answers(`${url}/livez`)).start();
  return url;
}

/** Which of these programs are installed; names the others on standard error. */
export function listInstalled(programs: readonly string[]): string[] {
  const installed = programs.filter((program) => Bun.which(program) !== null);
  const missing = programs.filter((program) => !installed.includes(program));
  if (missing.length > 0) process.stderr.write(`not tested, because not installed: ${missing.join(", ")}\n`);
  return installed;
}
