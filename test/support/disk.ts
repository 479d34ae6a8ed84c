import { type Environment, type Finished, main, root } from "./pds.ts";

/** What makes a namespace of its own whose mounts nobody else sees, and that end with it; undefined where the system doesn't let us. */
const namespace = [
  ["unshare", "-m"],
  ["unshare", "-rm"],
].find((command) => Bun.spawnSync([...command, "mount", "-t", "tmpfs", "none", "/mnt"]).success);

/** Whether processes can be given a disk of their own. */
export const canMount = namespace !== undefined;
if (!canMount) process.stderr.write("SKIPPED: this system permits no mounts, so tests that fill a disk are left out\n");

/** Runs the command line to its end where no file may become larger than some kilobytes. */
export function pdsWithLimit(kilobytes: number, args: readonly string[], environment: Environment): Promise<Finished> {
  return run(["bash", "-c", `ulimit -f ${kilobytes} && exec "$@"`, "bash"], args, environment);
}

/**
 * Runs the command line to its end with a disk of its own at a folder, which is empty at first.
 * @param after a shell command for when it has ended; what it prints is added to the output
 */
export function pdsOnDisk(
  { folder, size, after = ":" }: { readonly folder: string; readonly size: string; readonly after?: string },
  args: readonly string[],
  environment: Environment,
): Promise<Finished> {
  const script = `mount -t tmpfs -o size=${size} none ${folder} && "$@"; code=$?; ${after}; exit $code`;
  return run([...(namespace ?? []), "sh", "-c", script, "sh"], args, environment);
}

async function run(wrapper: readonly string[], args: readonly string[], environment: Environment): Promise<Finished> {
  const child = Bun.spawn([...wrapper, process.execPath, main, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? "", HOME: "/tmp", PDS_CONFIG: "/dev/null", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}
