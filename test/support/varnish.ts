import { replicasOn, spawnVarnish, varnishd } from "../../bench/support/varnish.ts";
import { cleanUp } from "./clean-up.ts";
import { temporaryFolder } from "./pds.ts";
import { until } from "./until.ts";

export { varnishd };

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
  const child = await spawnVarnish(replicas, { folder: await temporaryFolder(), port, megabytes });
  cleanUp(async () => {
    child.kill("SIGTERM");
    await child.exited;
  });
  const url = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until("Varnish answers", async () => {
    if (child.exitCode !== null) throw new Error(`varnishd exited: ${await child.stderr.text()}`);
    return await answers();
  });
  return { url };
}
