import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { killOnExit } from "./kill-on-exit.ts";
import { type Environment, main, root } from "./pds.ts";
import { until } from "./until.ts";

/** A `pds serve` process that the test controls. */
export interface ServiceProcess extends AsyncDisposable {
  readonly process: Bun.Subprocess;
  readonly pid: number;
  readonly exited: Promise<number>;
  readonly url: string;
  readonly adminUrl: string;
  /** Its standard error so far. */
  log(): string;
  /** Ends it with a signal. @returns its exit status and the time that took */
  end(signal: NodeJS.Signals): Promise<{ code: number; tookMs: number }>;
}

/** Starts the service without waiting. */
export function spawnService(
  args: readonly string[],
  environment: Environment,
  program = main,
  cwd = root,
): Omit<ServiceProcess, "url" | "adminUrl"> & {
  printed(): string;
} {
  const child = Bun.spawn([process.execPath, program, "serve", ...args], {
    cwd,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: tmpdir(),
      PDS_CONFIG: "/dev/null",
      PORT: "0",
      ADMIN_PORT: "0",
      DRAIN_SECONDS: "0",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  killOnExit(child, "TERM");
  const said = { out: "", log: "" };
  const reading = [
    (async () => {
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) said.out += chunk;
    })(),
    (async () => {
      for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) said.log += chunk;
    })(),
  ];
  const end = async (signal: NodeJS.Signals) => {
    const begunMs = performance.now();
    child.kill(signal);
    const code = await child.exited;
    const tookMs = performance.now() - begunMs;
    // Its runs also hold the other end, and survive a SIGKILL for a while.
    await Promise.race([Promise.all(reading), ...(signal === "SIGKILL" ? [Bun.sleep(500)] : [])]);
    return { code, tookMs };
  };
  return {
    process: child,
    pid: child.pid,
    exited: child.exited,
    printed: () => said.out,
    log: () => said.log,
    end,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null) await end("SIGKILL");
    },
  };
}

/** Starts the service and waits until it listens. */
export async function startService(environment: Environment, ...args: string[]): Promise<ServiceProcess> {
  const begun = spawnService(args, environment);
  let code: number | undefined;
  void begun.exited.then((status) => {
    code = status;
  });
  await until("the service listens", () => /^Admin .*\n/m.test(begun.printed()) || code !== undefined);
  const address = (name: string) => begun.printed().match(new RegExp(`^${name}\\s+(http\\S+?)(/api/v1)?$`, "m"))?.[1];
  const [url, adminUrl] = [address("Public"), address("Admin")];
  if (url === undefined || adminUrl === undefined) throw new Error(`the service exited with ${code}: ${begun.log()}`);
  return { ...begun, url, adminUrl };
}

/** Whether the system has /proc. */
export const canSeeProcesses = existsSync("/proc/self/status");

/** Resident bytes of a process. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/^VmRSS:\s+(\d+) kB$/m)?.[1]) * 1024;
}

export const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

/** Ids of the child processes. */
export function childrenOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.flatMap((thread) => childrenOfThread(pid, thread).match(/\d+/g) ?? []).map(Number);
}

function childrenOfThread(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
  } catch (error) {
    // It may have ended since it was listed; its children belong to another one by now.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || (error as NodeJS.ErrnoException).code === "ESRCH")
      return "";
    throw error;
  }
}

/** Whether the process exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** The sum of the samples of a metric, or of those whose labels have a text. */
export async function readMetric(
  { adminUrl }: Pick<ServiceProcess, "adminUrl">,
  name: string,
  labels = "",
): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.match(/^[^{ ]+/)?.[0] === name && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** The answer of the readiness probe of a listener. */
export async function readinessOf(url: string) {
  const response = await fetch(`${url}/readyz`);
  const said = (await response.json()) as {
    readonly status: string;
    readonly checks: Readonly<Record<string, string>>;
  };
  return { code: response.status, ...said };
}
