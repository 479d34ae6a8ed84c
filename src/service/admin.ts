import { Actions } from "../actions/index.ts";
import { adminRoutes } from "../admin/routes.ts";
import { Sessions } from "../admin/sessions.ts";
import { TokenCheck } from "../admin/token-check.ts";
import type { Handler, Routes } from "../http/endpoint.ts";
import { createConsole } from "./console.ts";
import type { ServiceContext } from "./context.ts";

export interface Admin {
  readonly routes: Routes;
  /** Settles when the actions that operators began have ended. */
  readonly settled: () => Promise<void>;
}

/** Composes the admin listener: the console, what operators do there, and who may. */
export function createAdmin(context: ServiceContext, publicUrl: string, readiness: Handler, metrics: Handler): Admin {
  const { config, connections, log, requests } = context;
  const { networks } = requests;
  const [database, writer] = [connections.background, connections.writer];
  const tokens = () => context.tokens;
  const actions = new Actions(
    {
      database,
      writer,
      jobs: () => context.jobs,
      startRun: (job, isForced) => context.scheduler.startRun(job, isForced),
      dryRun: (job) => context.scheduler.dryRun(job),
    },
    log,
  );
  const routes = adminRoutes({
    console: createConsole(context, publicUrl, actions),
    readiness,
    metrics,
    access: {
      tokens: new TokenCheck(tokens),
      sessions: new Sessions({ reader: database, writer }, tokens),
      boundTo: config.adminHost,
      hosts: config.adminHosts,
      networkOf: (origin) => networks.of(origin),
      addressOf: (origin) => networks.addressOf(origin),
    },
    perform: (action, form, by) => actions.perform(action, form, by),
    note: (operator, action, origin) => actions.note({ operator, action, client: networks.addressOf(origin) }),
  });
  return { routes, settled: () => actions.settled() };
}
