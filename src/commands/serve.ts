import { readConfig } from "../config/index.ts";
import { listSettingsWithoutEffect } from "../config/without-effect.ts";
import { ServiceError } from "../errors.ts";
import type { Role } from "../service/context.ts";
import type { Service } from "../service/start.ts";
import { onSignal, openLog, type Values } from "./common.ts";
import { print } from "./output.ts";
import { readParent } from "./parent.ts";

const maxWorkers = 256;

/** Runs the service until a signal stops it. */
export async function serve(values: Values): Promise<boolean> {
  const role = parseRole(values);
  // Those of its supervisor: the file may have changed, and need not even be valid.
  const given = role.kind === "worker" ? await readParent().config : undefined;
  const config = given ?? readConfig(process.env);
  const [log, { startService }] = await Promise.all([openLog(config), import("../service/start.ts")]);
  const unused = listSettingsWithoutEffect(config);
  if (unused.length > 0 && role.kind !== "worker") log.warn({ settings: unused }, "some settings have no effect");
  const { received, signal } = onSignal();
  let service: Service | undefined;
  let isReloading = false;
  // Signals during the start must not end the process. The settings may have changed since they were
  // read.
  process.on("SIGHUP", () => {
    if (service === undefined) isReloading = true;
    else service.reload();
  });
  // Signals for the supervisor may be sent to its whole process group.
  process.on("SIGUSR2", () => {
    if (role.kind !== "worker") service?.replaceWorkers();
  });
  service = await startService(config, log, signal, role);
  if (isReloading) service.reload();
  try {
    printAddresses(service);
  } catch (error) {
    // The log has them too, and its disk may be full.
    log.warn({ reason: (error as Error).message }, "cannot print the addresses");
  }
  const name = await received;
  log.info({ signal: name }, "stopping");
  // A person at the terminal does not want to wait for load balancers.
  await service.stop(name === "SIGINT");
  log.info("stopped");
  return true;
}

/** A worker has none of its own. */
function printAddresses({ publicUrl, linkUrl, exampleUrl, adminUrl }: Service): void {
  if (adminUrl === undefined) return;
  print(`Public   ${publicUrl}/api/v1`);
  print(`Docs     ${linkUrl}/docs`);
  if (exampleUrl !== undefined) print(`Example  ${exampleUrl}`);
  print(`Admin    ${adminUrl}`);
}

function parseRole({ workers, worker }: Values): Role {
  if (workers === undefined) return { kind: "standalone" };
  const count = /^\d{1,3}$/.test(`${workers}`) ? Number(workers) : 0;
  if (count < 1 || count > maxWorkers) {
    throw new ServiceError("bad_request", `--workers: expected a number from 1 to ${maxWorkers}, not ${workers}`);
  }
  return { kind: worker === true ? "worker" : "supervisor", workers: count };
}
