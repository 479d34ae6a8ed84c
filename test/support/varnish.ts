import { join } from "node:path";
import { startFront } from "./front.ts";
import { temporaryFolder } from "./pds.ts";

const operations = Bun.fileURLToPath(new URL("../../deploy", import.meta.url));

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

interface VarnishOptions {
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

/** Starts Varnish with the configuration of the documentation, in front of replicas on these ports. */
export async function startVarnish(
  ports: readonly number[],
  port: number,
  megabytes?: number,
): Promise<{ readonly url: string }> {
  return await startVarnishWith(await replicasOn(ports), port, megabytes);
}

/** @param replicas the text of `replicas.vcl` */
export async function startVarnishWith(
  replicas: string,
  port: number,
  megabytes = 128,
): Promise<{ readonly url: string }> {
  const command = await prepareVarnish(replicas, { folder: await temporaryFolder(), port, megabytes });
  return { url: await startFront(command, port) };
}
