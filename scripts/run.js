// Runs the tasks of package.json on a machine that has only npm (or Bun): installs missing
// dependencies once, then starts the Bun from npm. It runs before anything is installed, so it is
// plain JavaScript without dependencies.
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bun = join(root, "node_modules", "bun", "bin", "bun.exe");
const installLock = join(root, ".installing");

/** The scripts of package.json, and parts of them that have a name of their own. */
const tasks = {
  start: { args: ["src/main.ts", "serve"] },
  pds: { args: ["src/main.ts"] },
  build: {
    args: [
      ...["build", "--compile", "--bytecode", "--minify", "src/main.ts", "--outfile", "dist/pds"],
      // Otherwise, the executable names the folder in which it was built, and differs between checkouts.
      ...["--define", '__dirname="/"'],
    ],
  },
  test: { development: true, args: ["test/run.ts"] },
  "test:faults": { development: true, args: ["test/run.ts", "--campaigns"] },
  "test:faults proof": {
    development: true,
    args: ["test/run.ts", "--campaigns", "proof"],
    env: { PROOF_REPORT: "bench/proof.html" },
  },
  platform: { development: true, args: ["packages/platform-stand-in/src/main.ts"] },
  check: { development: true, args: ["scripts/check.ts"] },
  "document pictures": { development: true, args: ["scripts/pictures.ts"] },
  document: { development: true, args: ["scripts/document.ts"] },
  release: { args: ["scripts/release.ts"] },
  "release packages": { development: true, args: ["scripts/publish.ts"] },
  "build licenses": { args: ["scripts/licenses.ts"] },
  "build image": { args: ["scripts/image.ts"] },
  "document site": { args: ["scripts/site.ts"] },
  bench: { development: true, args: ["bench/serve.ts"] },
  "bench import": { development: true, args: ["bench/import.ts"] },
  "bench batch": { development: true, args: ["bench/batch.ts"] },
  "bench connections": { development: true, args: ["bench/connections.ts"] },
  "bench console": { development: true, args: ["bench/console.ts"] },
  "bench jobs": { development: true, args: ["bench/jobs.ts"] },
  "bench shops": { development: true, args: ["bench/shops.ts"] },
  "bench platform": { development: true, args: ["bench/platform.ts"] },
  "bench start": { args: ["bench/start.ts"] },
  "bench handover": { args: ["bench/handover.ts"] },
};

const readJson = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));

function isInstalled(path, version) {
  try {
    return readJson(join(path, "package.json")).version === version;
  } catch {
    return false;
  }
}

/**
 * Whether all required packages of the lock file are installed; development packages count only on
 * request.
 */
function allInstalled(development = false) {
  return Object.entries(readJson("package-lock.json").packages).every(
    ([path, { version, dev, devOptional, optional, link }]) =>
      path === "" || optional || link || ((dev || devOptional) && !development) || isInstalled(path, version),
  );
}

/** @returns an error message if the installation failed */
function install(development) {
  process.stderr.write("Installing dependencies; this happens once …\n");
  const manager = process.env.npm_execpath ?? "npm";
  const [command, ...args] = basename(manager).startsWith("bun")
    ? [manager, "install", "--silent", ...(development ? [] : ["--production"])]
    : [
        ...(manager.endsWith(".js") ? [process.execPath, manager] : [manager]),
        ...["ci", "--loglevel=error", "--no-audit", "--no-fund", "--no-progress"],
        ...(development ? ["--include=dev"] : ["--omit=dev"]),
      ];
  // The output of the installer goes to standard error, so that standard output has only data.
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  return status === 0 ? undefined : `Installation failed${error ? `: ${error.message}` : ""}. Run npm ci to see why.\n`;
}

/** Waits while another process installs: two installations at once remove each other's files. */
function lockInstallation() {
  for (;;) {
    try {
      writeFileSync(installLock, `${process.pid}`, { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (isInstalling()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    else rmSync(installLock, { force: true });
  }
}

/** Whether the process that holds the lock is alive; an interrupted installation leaves the lock. */
function isInstalling() {
  try {
    const pid = Number(readFileSync(installLock, "utf8"));
    // The lock is empty for the moment between its creation and the writing of the id.
    return pid === 0 || process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

function installMissing(development) {
  if (allInstalled(development)) return;
  lockInstallation();
  // A task that needs no development packages does not remove installed ones.
  const { typescript } = readJson("package.json").devDependencies;
  const keepDevelopment = development || isInstalled("node_modules/typescript", typescript);
  const failure = allInstalled(development) ? undefined : install(keepDevelopment);
  rmSync(installLock, { force: true });
  if (failure === undefined) return;
  process.stderr.write(failure);
  process.exit(1);
}

const [name, ...given] = process.argv.slice(2);
const part = tasks[`${name} ${given[0]}`];
const task = part ?? tasks[name];
const rest = part === undefined ? given : given.slice(1);
installMissing(task.development);

const child = spawn(bun, [...task.args, ...rest], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, ...task.env },
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// A shell between npm and this process does not forward signals, and SIGKILL cannot be forwarded:
// stop when the parent is gone.
const parent = process.ppid;
setInterval(() => process.ppid === parent || child.kill("SIGTERM"), 200).unref();
child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
child.on("error", (error) => {
  process.stderr.write(`${bun}: ${error.message}\n`);
  process.exit(1);
});
