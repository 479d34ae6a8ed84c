import { randomBytes } from "node:crypto";
import { isLoopback } from "../base/url.ts";
import type { Config } from "../config/index.ts";
import type { Handler } from "../http/endpoint.ts";
import type { Viewer } from "../http/page.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { anonymous } from "../operators/access.ts";
import { Actions } from "../operators/actions/index.ts";
import { adminRoutes } from "../operators/routes.ts";
import { Sessions } from "../operators/sessions.ts";
import { TokenCheck } from "../operators/token-check.ts";
import { demoOperator, listTokens } from "../operators/tokens.ts";
import { createConsole } from "./console.ts";
import type { ServiceContext } from "./context.ts";
import { sampleFolderOf } from "./sample.ts";

/** Log lines per minute, for all networks together. */
const maxWrongTokenLines = 60;

/**
 * Whether anyone may act: only this machine can reach the sample brand with its own feeds. A proxy
 * in front would let others in.
 */
const isDemo = (config: Config) =>
  sampleFolderOf(config) !== undefined &&
  isLoopback(config.adminHost) &&
  config.adminHosts.length === 0 &&
  config.trustedProxies.length === 0 &&
  config.publicUrl === "";

const demoViewer = (): Viewer => ({
  operator: demoOperator,
  role: "operate",
  formToken: randomBytes(32).toString("base64url"),
});

export function createAdmin(context: ServiceContext, publicUrl: string, readiness: Handler, metrics: Handler) {
  const { config, connections, log, jobs, requests } = context;
  const { networks } = requests;
  const [database, writer] = [connections.background, connections.writer];
  const tokens = listTokens(config);
  const { startRun, dryRun } = context.scheduler;
  const actions = new Actions({ database, writer, jobs, startRun, dryRun }, log);
  const lines = new RateLimiter(maxWrongTokenLines);
  const onWrong = (network: string) => {
    if (lines.take("").isAllowed) log.warn({ network }, "wrong token for the admin listener");
  };
  const sessions = new Sessions(database, writer, tokens);
  void sessions.endRevoked().catch((error) => log.warn({ err: error }, "cannot end the sessions of revoked tokens"));
  const routes = adminRoutes({
    console: createConsole(context, publicUrl, actions),
    readiness,
    metrics,
    access: {
      tokens: new TokenCheck(tokens, onWrong),
      sessions,
      everybody: isDemo(config) ? demoViewer() : anonymous,
      boundTo: config.adminHost,
      hosts: config.adminHosts,
      networkOf: (origin) => networks.of(origin),
      addressOf: (origin) => networks.addressOf(origin),
    },
    actions,
    note: (operator, action, origin) => actions.note({ operator, action, client: networks.addressOf(origin) }),
  });
  return { routes, settled: () => actions.settled() };
}
