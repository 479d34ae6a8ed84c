import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

// How long a start takes: from the creation of the process to the first answer 200, on a store that holds the sample brand.
const runs = Number(process.argv[2] ?? 20);
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const main = join(root, "src", "main.ts");
const folder = await mkdtemp(join(tmpdir(), "pds-bench-"));
const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
const port = `${probe.port}`;
await probe.stop(true);
const environment = {
  PATH: process.env.PATH ?? "",
  PDS_CONFIG: join(root, "pds.toml"),
  DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
  PORT: port,
  ADMIN_PORT: "0",
};
const commands = {
  "bun src/main.ts serve": [process.execPath, main, "serve"],
  "dist/pds serve": [join(root, "dist", "pds"), "serve"],
};

async function firstAnswerMs(command: string[]): Promise<number> {
  const begun = performance.now();
  const child = Bun.spawn(command, { cwd: root, env: environment, stdio: ["ignore", "ignore", "ignore"] });
  try {
    while (performance.now() - begun < 30_000) {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/products/6781204660224`).catch(() => undefined);
      if (response?.status === 200 && (await response.text()) !== "") return performance.now() - begun;
      await Bun.sleep(1);
    }
    throw new Error(`no answer within 30 s of ${command.join(" ")}`);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

async function measure(name: string, command: string[]): Promise<void> {
  const times = [];
  for (let run = 0; run < runs; run++) times.push(await firstAnswerMs(command));
  const [least, median, most] = times
    .toSorted((a, b) => a - b)
    .filter((_, index) => [0, Math.floor(runs / 2), runs - 1].includes(index))
    .map((ms) => ms.toFixed(0));
  process.stdout.write(`${name}: ${runs} starts, ${least} / ${median} / ${most} ms (least / median / most)\n`);
}

try {
  await firstAnswerMs(commands["bun src/main.ts serve"]);
  for (const [name, command] of Object.entries(commands)) {
    if (await Bun.file(command[0] ?? "").exists()) await measure(name, command);
    else process.stdout.write(`${name}: not built; npm run build does that\n`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
