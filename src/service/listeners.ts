import { ServiceError } from "../base/errors.ts";
import type { Config } from "../config/index.ts";
import type { Routes } from "../http/endpoint.ts";
import { getMetrics } from "../http/metrics.ts";
import { type Listener, listen, probeAddress } from "../http/server.ts";
import type { ServiceContext } from "./context.ts";
import { measureService } from "./metrics.ts";
import { publicRoutes } from "./public.ts";
import { createReadiness, createStoreReader } from "./readiness.ts";

/** For requests in progress after the listeners close. */
const graceMs = 4000;
/** Before the console is loaded, which takes about ten milliseconds. */
const firstRequestsMs = 5;

export async function startListeners(context: ServiceContext) {
  const { config, log, requests, push } = context;
  const listeners: Listener[] = [];
  const open = (name: "public" | "admin", routes: Routes): string => {
    const address = addressesOf(config)[name];
    const options = { ...address, isShared: config.reusePort === "on", idleSeconds: config.idleSeconds };
    const listener = listen(routes, requests.forListener(name), options);
    listeners.push(listener);
    return listener.url;
  };
  let actionsEnded = async () => {};
  const stop = async (isUrgent: boolean) => {
    await Bun.sleep(isUrgent ? 0 : config.drainSeconds * 1000);
    await Promise.all(listeners.map((listener) => listener.stop(graceMs)));
    await actionsEnded();
  };
  try {
    const store = createStoreReader(context);
    const readiness = createReadiness(context, store);
    const publicUrl = open(
      "public",
      publicRoutes({ config, ...requests.sources, readiness, webhooks: push?.routes ?? {} }),
    );
    const metrics = getMetrics(() => measureService(store, context), requests.meters.requests);
    // Clients that wait for the service to start retry within milliseconds. Loading the console
    // would delay their responses.
    await Bun.sleep(firstRequestsMs);
    const { createAdmin } = await import("./admin.ts");
    const { routes, settled } = createAdmin(context, publicUrl, readiness, metrics);
    actionsEnded = settled;
    const adminUrl = open("admin", routes);
    log.info({ publicUrl, adminUrl }, "listening");
    return { publicUrl, adminUrl, stop };
  } catch (error) {
    await stop(true);
    throw error;
  }
}

const addressesOf = (config: Config) => ({
  public: { host: config.host, port: config.port },
  admin: { host: config.adminHost, port: config.adminPort },
});

/**
 * Checks before the first runs, which may take long, whether the listeners can open.
 * @throws ServiceError `unavailable` when an address cannot be bound, `invalid_setting` when they
 *   are the same
 */
export async function probeListeners(config: Config): Promise<void> {
  const { host, port, adminHost, adminPort } = config;
  const isAny = (address: string) => address === "0.0.0.0" || address === "::";
  if (port !== 0 && port === adminPort && (host === adminHost || isAny(host) || isAny(adminHost))) {
    throw new ServiceError("invalid_setting", `PORT and ADMIN_PORT are both ${port}: the listeners need one each`);
  }
  if (config.reusePort === "on") return;
  for (const address of Object.values(addressesOf(config))) await probeAddress(address);
}
