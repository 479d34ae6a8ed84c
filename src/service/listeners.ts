import { ExitedMetrics } from "../admin/exited-metrics.ts";
import { getMetrics, measureProcess, type ProcessMetrics } from "../admin/metrics.ts";
import { readConfig } from "../config/index.ts";
import type { Routes } from "../http/endpoint.ts";
import { type Listener, listen } from "../http/server.ts";
import type { ServiceContext } from "./context.ts";
import { createExample } from "./example.ts";
import { publicRoutes } from "./public.ts";
import { createReadiness, createStoreReader } from "./readiness.ts";
import { reportToSupervisor } from "./worker-process.ts";
import { toWorkerConfig, Workers } from "./workers.ts";

/** How long requests in progress may take after the listeners close. */
const graceMs = 4000;
/** How long the public listener is open before the console is loaded, which takes some ten milliseconds. */
const firstRequestsMs = 5;

export interface Listeners {
  readonly publicUrl: string;
  /** Undefined for a worker. */
  readonly adminUrl: string | undefined;
  /** Undefined unless this process supervises some. */
  readonly workers: Workers | undefined;
  /** Lets the workers, if there are any, read the settings again. */
  reload(): void;
  /** Replaces the workers, if there are any, one after the other. */
  replaceWorkers(): void;
  /** @param isUrgent whether to skip the time that load balancers get to send requests elsewhere */
  stop(isUrgent: boolean): Promise<void>;
}

/**
 * Opens the public listener, in workers if this process supervises them, and the admin listener.
 */
export async function startListeners(context: ServiceContext): Promise<Listeners> {
  const { config, log, role, requests, push, purging } = context;
  const exited = new ExitedMetrics();
  const workers = role.kind === "supervisor" ? createWorkers(context, role.workers, exited) : undefined;
  const open = createOpener(context);
  const reload = () => workers?.reload();
  const replaceWorkers = () => {
    if (workers === undefined) log.warn("there are no workers to replace: they are started with --workers");
    void workers?.replace();
  };
  let actionsEnded = async () => {};
  const stop = async (isUrgent: boolean) => {
    const drainMs = isUrgent ? 0 : config.drainSeconds * 1000;
    await Promise.all([
      workers?.stop(isUrgent),
      Bun.sleep(drainMs).then(() => Promise.all(open.listeners.map((listener) => listener.stop(graceMs)))),
    ]);
    await actionsEnded();
  };
  try {
    const store = createStoreReader(context);
    const readiness = createReadiness(context, store, workers);
    const measure = () =>
      measureProcess({
        ...requests.meters,
        deliveries: push?.counter,
        purges: purging?.counter,
        isServing: workers === undefined,
      });
    const pages = createExample(requests.sources.operationContext);
    const publicUrl =
      workers === undefined
        ? open.listener("public", publicRoutes({ ...requests.sources, readiness, pages, webhooks: push?.routes ?? {} }))
        : await workers.start();
    if (role.kind === "worker") {
      const state = () => ({ servesWithoutStore: requests.servesWithoutStore(), lastChange: requests.lastChange() });
      reportToSupervisor(publicUrl, state, measure);
      return { publicUrl, adminUrl: undefined, workers, reload, replaceWorkers, stop };
    }
    const measureAll = async () => {
      const ofWorkers = workers?.measure() as Promise<ProcessMetrics[]> | undefined;
      const [own, running = [], ended] = await Promise.all([measure(), ofWorkers, exited.counts]);
      return [own, ...running, ended];
    };
    const metrics = getMetrics(store, measureAll);
    // Clients that wait for the start try again within milliseconds. Loading the console would delay
    // their responses. Workers never load it.
    await Bun.sleep(firstRequestsMs);
    const { createAdmin } = await import("./admin.ts");
    const { routes, settled } = createAdmin(context, publicUrl, readiness, metrics);
    actionsEnded = settled;
    const adminUrl = open.listener("admin", routes);
    log.info({ publicUrl, adminUrl }, "listening");
    return { publicUrl, adminUrl, workers, reload, replaceWorkers, stop };
  } catch (error) {
    await stop(true);
    throw error;
  }
}

/** Opens listeners and remembers them, so that they can be stopped. */
function createOpener({ config, role, requests }: ServiceContext) {
  const listeners: Listener[] = [];
  const alone = config.reusePort === "on" ? 1 : undefined;
  const siblings = role.kind === "worker" ? role.workers : alone;
  const addresses = {
    public: { host: config.host, port: config.port },
    admin: { host: config.adminHost, port: config.adminPort },
  };
  const listener = (name: "public" | "admin", routes: Routes): string => {
    const options = { ...addresses[name], siblings, idleSeconds: config.idleSeconds };
    const opened = listen(routes, requests.forListener(name), options);
    listeners.push(opened);
    return opened.url;
  };
  return { listeners, listener };
}

function createWorkers({ config, log }: ServiceContext, count: number, exited: ExitedMetrics): Workers {
  const settings = () => toWorkerConfig(readConfig(process.env, config), count);
  const onExit = (measurements: unknown) => exited.add(measurements as ProcessMetrics);
  return new Workers({ count, port: config.port, settings, log, onExit });
}
