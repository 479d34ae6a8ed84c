import { join } from "node:path";

export const main = join(Bun.fileURLToPath(new URL("..", import.meta.url)), "src", "main.ts");

export const command: readonly string[] = [process.execPath, main, "serve"];

/** The settings of a service on free ports that nothing outside decides. */
export const settings: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? "",
  PDS_CONFIG: "/dev/null",
  LOG_LEVEL: "silent",
  PORT: "0",
  ADMIN_PORT: "0",
};

/** What the service prints once it listens, with the address of its operations; the line of the admin listener comes last. */
export const ready = /^Public\s+(\S+)$[\s\S]*^Admin\s+(\S+)\n/m;

/** Runs the service on free ports while the work goes on, which gets the addresses of its operations and of its admin listener. */
export async function serving<T>(
  environment: Readonly<Record<string, string>>,
  work: (url: string, process: Bun.Subprocess, adminUrl: string) => Promise<T>,
): Promise<T> {
  const child = Bun.spawn([...command], {
    env: { ...settings, ...environment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (ready.test(printed)) break;
  }
  try {
    const [, url = "", adminUrl = ""] = printed.match(ready) ?? [];
    return await work(url, child, adminUrl);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

/** The least of some values that a share of them, from 0 to 1, does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;
}
