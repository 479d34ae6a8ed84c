import { join, resolve } from "node:path";
import { findFreePort } from "../test/support/free-port.ts";
import { withFolder } from "./support/folder.ts";
import { print } from "./support/print.ts";
import { main } from "./support/service.ts";
import { percentile } from "./support/statistics.ts";

// Measures a start, from the creation of the process to the first 200 response, on a store with the
// sample brand: `npm run bench -- start [STARTS] [PROGRAM…]`. The programs, such as another
// version's `src/main.ts` or `dist/pds`, start in turn with those of this folder.
const [startsText = "20", ...others] = process.argv.slice(2);
const starts = Number(startsText);
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const programs = [main, join(root, "dist", "pds"), ...others.map((path) => resolve(path))];

interface Start {
  readonly wallMs: number;
  /** Of the process, until it was stopped after its first response. */
  readonly cpuMs: number;
}

async function start(program: string, environment: Readonly<Record<string, string>>): Promise<Start> {
  const command = [...(program.endsWith(".ts") ? [process.execPath] : []), program, "serve"];
  const url = `http://127.0.0.1:${environment.PORT}/api/v1/products/6781204660224`;
  const startedMs = performance.now();
  const child = Bun.spawn(command, { cwd: root, env: environment, stdio: ["ignore", "ignore", "ignore"] });
  try {
    while (performance.now() - startedMs < 30_000) {
      const response = await fetch(url).catch(() => undefined);
      if (response?.status === 200 && (await response.text()) !== "") {
        const wallMs = performance.now() - startedMs;
        child.kill("SIGKILL");
        await child.exited;
        return { wallMs, cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? Number.NaN) / 1000 };
      }
      await Bun.sleep(1);
    }
    throw new Error(`no response within 30 s from ${command.join(" ")}`);
  } finally {
    child.kill("SIGKILL");
  }
}

const quartiles = (values: readonly number[]) =>
  [0.25, 0.5, 0.75].map((share) => percentile(values, share).toFixed(0)).join(" / ");

await withFolder(async (folder) => {
  const environment = {
    PATH: process.env.PATH ?? "",
    PDS_CONFIG: join(root, "pds.toml"),
    DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
    PORT: `${await findFreePort()}`,
    ADMIN_PORT: "0",
  };
  // The first start imports the sample.
  await start(main, environment);
  const found: string[] = [];
  for (const program of programs) {
    if (await Bun.file(program).exists()) found.push(program);
    else print(`${program}: not built; run npm run build`);
  }
  const measured = new Map<string, Start[]>(found.map((program) => [program, []]));
  for (let round = 0; round < starts; round++) {
    for (const [program, list] of measured) list.push(await start(program, environment));
  }
  print(`${starts} starts each, in turn; quartiles of the time to the first response, and of CPU time`);
  for (const [program, list] of measured) {
    const [wall, cpu] = [list.map(({ wallMs }) => wallMs), list.map(({ cpuMs }) => cpuMs)];
    print(`${program}: ${quartiles(wall)} ms, CPU ${quartiles(cpu)} ms`);
  }
});
