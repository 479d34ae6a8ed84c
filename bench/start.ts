import { join } from "node:path";
import { withFolder } from "./support/folder.ts";
import { print } from "./support/print.ts";
import { main } from "./support/service.ts";

// Measures a start, from the creation of the process to the first 200 response, on a store with the
// sample brand: `npm run bench:start -- [STARTS]`.
const starts = Number(process.argv[2] ?? 20);
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const commands = {
  "bun src/main.ts serve": [process.execPath, main, "serve"],
  "dist/pds serve": [join(root, "dist", "pds"), "serve"],
};

async function findFreePort(): Promise<string> {
  const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const port = `${probe.port}`;
  await probe.stop(true);
  return port;
}

type Environment = Readonly<Record<string, string>>;

async function firstResponseMs(command: string[], environment: Environment): Promise<number> {
  const startedMs = performance.now();
  const child = Bun.spawn(command, { cwd: root, env: environment, stdio: ["ignore", "ignore", "ignore"] });
  try {
    while (performance.now() - startedMs < 30_000) {
      const url = `http://127.0.0.1:${environment.PORT}/api/v1/products/6781204660224`;
      const response = await fetch(url).catch(() => undefined);
      if (response?.status === 200 && (await response.text()) !== "") return performance.now() - startedMs;
      await Bun.sleep(1);
    }
    throw new Error(`no response within 30 s from ${command.join(" ")}`);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

async function measure(name: string, command: string[], environment: Environment): Promise<void> {
  const times = [];
  for (let start = 0; start < starts; start++) times.push(await firstResponseMs(command, environment));
  const sorted = times.toSorted((a, b) => a - b);
  const [min, median, max] = [0, Math.floor(starts / 2), starts - 1].map((index) => sorted[index]?.toFixed(0));
  print(`${name}: ${starts} starts, ${min} / ${median} / ${max} ms (min / median / max)`);
}

await withFolder(async (folder) => {
  const environment = {
    PATH: process.env.PATH ?? "",
    PDS_CONFIG: join(root, "pds.toml"),
    DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
    PORT: await findFreePort(),
    ADMIN_PORT: "0",
  };
  // The first start imports the sample.
  await firstResponseMs(commands["bun src/main.ts serve"], environment);
  for (const [name, command] of Object.entries(commands)) {
    if (await Bun.file(command[0] ?? "").exists()) await measure(name, command, environment);
    else print(`${name}: not built; run npm run build`);
  }
});
