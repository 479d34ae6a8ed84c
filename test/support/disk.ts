import { type Environment, type Finished, pds } from "./pds.ts";

/** The command for a private mount namespace; undefined if the system does not permit one. */
const namespace = [
  ["unshare", "-m"],
  ["unshare", "-rm"],
].find((command) => Bun.spawnSync([...command, "mount", "-t", "tmpfs", "none", "/mnt"]).success);

/** Whether processes can run with a separate disk. */
export const canMount = namespace !== undefined;
if (!canMount) process.stderr.write("SKIPPED: this system permits no mounts, so tests that fill a disk are skipped\n");

/** Runs the command line with a file size limit in kilobytes. */
export function pdsWithLimit(kilobytes: number, args: readonly string[], environment: Environment): Promise<Finished> {
  return pds(args, environment, undefined, ["bash", "-c", `ulimit -f ${kilobytes} && exec "$@"`, "bash"]);
}

/**
 * Runs the command line with an empty, separate disk mounted at a folder.
 * @param after a shell command that runs afterwards; its output is appended
 */
export function pdsOnDisk(
  { folder, size, after = ":" }: { readonly folder: string; readonly size: string; readonly after?: string },
  args: readonly string[],
  environment: Environment,
): Promise<Finished> {
  const script = `mount -t tmpfs -o size=${size} none ${folder} && "$@"; code=$?; ${after}; exit $code`;
  return pds(args, environment, undefined, [...(namespace ?? []), "sh", "-c", script, "sh"]);
}
