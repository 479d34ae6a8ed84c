import { join } from "node:path";
import { killOnExit } from "../../test/support/kill-on-exit.ts";

const operations = Bun.fileURLToPath(new URL("../../docs/operations", import.meta.url));

/** Undefined where Varnish is not installed: on Debian, `apt-get install varnish varnish-modules`. */
export const varnishd = Bun.which("varnishd", { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` });

/** The documented `replicas.vcl` with replicas on these ports. */
export async function replicasOn(ports: readonly number[]): Promise<string> {
  const documented = await Bun.file(join(operations, "replicas.vcl")).text();
  const [backend = ""] = documented.match(/^backend replica1 \{\n[\s\S]*?^\}\n/m) ?? [];
  const backends = ports.map((each, index) =>
    backend.replace("replica1", `replica${index + 1}`).replace('"3000"', `"${each}"`),
  );
  const added = ports.map((_, index) => `replicas.add_backend(replica${index + 1});`);
  return documented
    .replace(backend, () => backends.join("\n"))
    .replace("replicas.add_backend(replica1);", added.join("\n"));
}

export interface VarnishOptions {
  /** Gets its files; its counters are in `varnish` there. */
  readonly folder: string;
  readonly port: number;
  readonly megabytes: number;
}

/**
 * The command that starts Varnish with the configuration of the documentation.
 * @param replicas the text of `replicas.vcl`
 */
export async function prepareVarnish(replicas: string, { folder, port, megabytes }: VarnishOptions): Promise<string[]> {
  await Bun.write(join(folder, "varnish.vcl"), Bun.file(join(operations, "varnish.vcl")));
  await Bun.write(join(folder, "replicas.vcl"), replicas);
  const options = ["-F", "-j", "none", "-n", join(folder, "varnish"), "-s", `malloc,${megabytes}m`];
  return [varnishd ?? "", ...options, "-a", `127.0.0.1:${port}`, "-f", join(folder, "varnish.vcl")];
}

/** Starts it without waiting. */
export async function spawnVarnish(
  replicas: string,
  options: VarnishOptions,
): Promise<Bun.Subprocess<"ignore", "ignore", "pipe">> {
  const child = Bun.spawn(await prepareVarnish(replicas, options), { stdio: ["ignore", "ignore", "pipe"] });
  killOnExit(child, "TERM");
  return child;
}
