import { join } from "node:path";

export const main = join(new URL("..", import.meta.url).pathname, "src", "main.ts");

/** Runs the service on free ports while the work goes on, which gets the address of its operations. */
export async function serving<T>(
  environment: Readonly<Record<string, string>>,
  work: (url: string, process: Bun.Subprocess) => Promise<T>,
): Promise<T> {
  const child = Bun.spawn([process.execPath, main, "serve"], {
    env: {
      PATH: process.env.PATH ?? "",
      PDS_CONFIG: "/dev/null",
      LOG_LEVEL: "silent",
      PORT: "0",
      ADMIN_PORT: "0",
      ...environment,
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (printed.includes("Admin")) break;
  }
  try {
    return await work(printed.match(/^Public\s+(\S+)$/m)?.[1] ?? "", child);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

/** The least of some values that a share of them, from 0 to 1, does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;
}
