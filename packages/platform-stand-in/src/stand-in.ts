import { createComponents, findApp, uninstall } from "./components.ts";
import { handleControl } from "./http/control.ts";
import { createRequestId } from "./http/responses.ts";
import { handleRequest } from "./http/router.ts";
import { type StandInOptions, withDefaults } from "./options.ts";

export type { ProductChanges } from "./catalog/changes.ts";
export type { Fault } from "./faults.ts";
export type { StandInOptions } from "./options.ts";

export type StandIn = ReturnType<typeof startStandIn>;

/**
 * Starts a stand-in for one shop. Control it through its components, or from another process at
 * `/control`.
 */
export function startStandIn(options: StandInOptions = {}) {
  const settings = withDefaults(options);
  const components = createComponents(settings, () => origin);
  const server = Bun.serve({
    port: settings.port,
    hostname: settings.hostname,
    // A hanging response is a fault that tests ask for: the server must not end it.
    idleTimeout: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === "/control") return handleControl(components, origin, request);
      const requestId = createRequestId();
      const response = await handleRequest(components, request, requestId);
      response.headers.set("X-Request-Id", requestId);
      return response;
    },
  });
  /** Without a trailing slash. */
  const origin: string = `http://${settings.hostname}:${server.port}`;
  return {
    ...components,
    origin,
    graphqlUrl: (version = settings.versions.at(-1) ?? "unstable") => `${origin}/admin/api/${version}/graphql.json`,
    accessTokenUrl: `${origin}/admin/oauth/access_token`,
    controlUrl: `${origin}/control`,
    findApp: (name?: string) => findApp(components, name),
    uninstall: (name?: string) => uninstall(components, name),
    stop: async () => {
      components.deliveries.stop();
      await server.stop(true);
      await components.bulk.stop();
    },
  };
}
