import { cleanUp } from "./clean-up.ts";
import { killOnExit } from "./kill-on-exit.ts";
import { until } from "./until.ts";

/**
 * Starts a load balancer or a shared cache in the foreground, until the end of the test file, and
 * waits until it passes requests on.
 */
export async function startFront(command: readonly string[], port: number): Promise<string> {
  const child = Bun.spawn([...command], { stdio: ["ignore", "ignore", "ignore"] });
  killOnExit(child, "TERM");
  cleanUp(() => {
    child.kill();
    return child.exited;
  });
  const url = `http://127.0.0.1:${port}`;
  await until("it passes requests on", () =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return url;
}

/** Which of these programs are installed; names the others on standard error. */
export function listInstalled(programs: readonly string[]): string[] {
  const installed = programs.filter((program) => Bun.which(program) !== null);
  const missing = programs.filter((program) => !installed.includes(program));
  if (missing.length > 0) process.stderr.write(`not tested, because not installed: ${missing.join(", ")}\n`);
  return installed;
}
