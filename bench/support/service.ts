import { join } from "node:path";

export const main = join(Bun.fileURLToPath(new URL("../..", import.meta.url)), "src", "main.ts");

export const command: readonly string[] = [process.execPath, main, "serve"];

/** Settings of a service on free ports that does not depend on the environment of the benchmark. */
export const settings: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? "",
  PDS_CONFIG: "/dev/null",
  LOG_LEVEL: "silent",
  PORT: "0",
  ADMIN_PORT: "0",
};

/**
 * Output of the service once it listens; captures the URL of the operations and the URL of the
 * admin listener, which comes last.
 */
export const ready = /^Public\s+(\S+)$[\s\S]*^Admin\s+(\S+)\n/m;

export interface RunningService {
  readonly child: Bun.Subprocess;
  /** URL of the operations. */
  readonly url: string;
  readonly adminUrl: string;
}

/** Starts the service, by default on free ports, and waits until it listens. */
export async function startService(
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<RunningService> {
  const child = Bun.spawn([...command, ...args], {
    env: { ...settings, ...environment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (ready.test(printed)) break;
  }
  const [, url = "", adminUrl = ""] = printed.match(ready) ?? [];
  return { child, url, adminUrl };
}

export async function stopProcess(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGTERM");
  await child.exited;
}

/**
 * Runs the service on free ports during the work, which gets the URLs of the operations and of the
 * admin listener.
 */
export async function withService<T>(
  environment: Readonly<Record<string, string>>,
  work: (url: string, adminUrl: string) => Promise<T>,
): Promise<T> {
  const { child, url, adminUrl } = await startService(environment);
  try {
    return await work(url, adminUrl);
  } finally {
    await stopProcess(child);
  }
}

export interface CommandResult {
  readonly output: string;
  readonly log: string;
  readonly elapsedMs: number;
  readonly cpuMs: number;
  readonly maxRssMb: number;
}

/**
 * Runs a command of the service, such as an import, until it exits.
 * @throws Error with its log if it fails
 */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const startedMs = performance.now();
  const child = Bun.spawn([process.execPath, main, ...args], {
    env: { PATH: process.env.PATH ?? "", PDS_CONFIG: "/dev/null", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, log] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`pds ${args.join(" ")} failed: ${log}`);
  const elapsedMs = performance.now() - startedMs;
  const usage = child.resourceUsage();
  return {
    output: output.trim(),
    log,
    elapsedMs,
    cpuMs: Number(usage?.cpuTime.total ?? 0) / 1000,
    maxRssMb: (usage?.maxRSS ?? 0) / 1e6,
  };
}
