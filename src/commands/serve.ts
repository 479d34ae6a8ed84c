import { readConfig } from "../config/index.ts";
import { listSettingsWithoutEffect } from "../config/without-effect.ts";
import type { Service } from "../service/start.ts";
import { onSignal, openLog } from "./common.ts";
import { print } from "./output.ts";

export async function serve(): Promise<boolean> {
  const config = readConfig(process.env);
  const [log, { startService }] = await Promise.all([openLog(config), import("../service/start.ts")]);
  const unused = listSettingsWithoutEffect(config);
  if (unused.length > 0) log.warn({ settings: unused }, "some settings have no effect");
  const { received, signal } = onSignal();
  const service = await startService(config, log, signal);
  try {
    printAddresses(service);
  } catch (error) {
    // The log has them too, and its disk may be full.
    log.warn({ reason: (error as Error).message }, "cannot print the addresses");
  }
  const name = await received;
  log.info({ signal: name }, "stopping");
  // Someone at the terminal does not want to wait for load balancers.
  await service.stop(name === "SIGINT");
  log.info("stopped");
  return true;
}

function printAddresses({ publicUrl, linkUrl, exampleUrl, adminUrl }: Service): void {
  print(`Public   ${publicUrl}/api/v1`);
  print(`Docs     ${linkUrl}/docs`);
  if (exampleUrl !== undefined) print(`Example  ${exampleUrl}`);
  print(`Admin    ${adminUrl}`);
}
