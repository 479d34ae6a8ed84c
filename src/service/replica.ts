import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import packageJson from "../../package.json" with { type: "json" };
import { type ReplicaState, removeReplica, saveReplica } from "../database/replica.ts";
import type { ServiceContext } from "./context.ts";
import type { Workers } from "./workers.ts";

const intervalMs = 15_000;
/** How long a store that does not answer may delay the exit. */
const exitMs = 1000;

/**
 * Tells the other processes of the store how this one does, until the signal aborts.
 * @param workers undefined unless this process supervises some
 * @param supervised ids of the runs in progress
 */
export async function reportReplica(
  context: ServiceContext,
  workers: Workers | undefined,
  supervised: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<void> {
  const { replica, connections, log } = context;
  const { scheduling: database } = connections;
  const report = async () => {
    while (!signal.aborted) {
      await saveReplica(database, replica, describe(context, workers, supervised), process.uptime()).catch((error) =>
        // The same process warns of a store that cannot be reached.
        log.debug({ err: error }, "cannot tell other replicas how this one does; retrying"),
      );
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
    await removeReplica(database, replica).catch(() => {});
  };
  const { promise: exit, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => setTimeout(resolve, exitMs).unref(), { once: true });
  await Promise.race([report(), exit]);
}

function describe(
  { config, scheduler, push, purging, requests }: ServiceContext,
  workers: Workers | undefined,
  supervised: ReadonlySet<number>,
): ReplicaState {
  const ofWorkers = workers?.describe();
  const outage = requests.outage();
  const nowMs = performance.now();
  return {
    host: hostname(),
    pid: process.pid,
    version: packageJson.version,
    workers: ofWorkers && { serving: ofWorkers.serving, wanted: ofWorkers.wanted },
    duties: [
      ...(config.scheduler === "on" ? (["schedules"] as const) : []),
      ...(push === undefined ? [] : (["deliveries"] as const)),
      ...(purging === undefined ? [] : (["purging"] as const)),
    ],
    suspension: scheduler.suspension(),
    runs: [...supervised],
    lastChange: Math.min(requests.lastChange(), ofWorkers?.lastChange ?? Number.POSITIVE_INFINITY),
    outage: outage && {
      beganAgoS: (nowMs - outage.beganMs) / 1000,
      endedAgoS: (nowMs - outage.endedMs) / 1000,
    },
  };
}
