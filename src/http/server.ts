import type { BunRequest, Server } from "bun";
import { ServiceError } from "../errors.ts";
import { Endpoint, type Resource, type Resources, type Serving } from "./endpoint.ts";

export interface Listener {
  readonly url: string;
  /** Takes no new connection, lets the answers under way end, and after `graceMs` ends them. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether another process may listen there too. */
  readonly isShared: boolean;
  /** Seconds after which a connection is closed on which nothing comes; 0 never. */
  readonly idleSeconds: number;
}

/** @throws ServiceError `invalid_setting` when the address cannot be bound. */
export function listen(
  resources: Resources,
  serving: Serving,
  { host, port, isShared, idleSeconds }: ListenOptions,
): Listener {
  const routeTo = (route: string, resource: Resource) => {
    const endpoint = new Endpoint(serving, route, resource);
    return (request: BunRequest<string>, from: Server<undefined>) => endpoint.handle(request, from);
  };
  const unknown = routeTo("(unknown)", {
    get: () => {
      throw new ServiceError("not_found", "There is nothing at this address; /docs lists what there is.");
    },
  });
  const routes = Object.fromEntries(
    Object.entries(resources).map(([route, resource]) => [route, routeTo(route, resource)]),
  );
  let server: Server<undefined>;
  try {
    server = Bun.serve({
      hostname: host,
      port,
      reusePort: isShared,
      idleTimeout: idleSeconds,
      routes,
      // Every answer is to a request without a body.
      maxRequestBodySize: 64 * 1024,
      development: false,
      fetch: (request, server) => unknown(request as BunRequest<string>, server),
    });
  } catch (cause) {
    const reason = (cause as Error).message;
    const hint = "PORT and ADMIN_PORT choose others";
    throw new ServiceError("invalid_setting", `cannot listen on ${host} port ${port}: ${reason} ${hint}`, { cause });
  }
  return {
    url: server.url.href.replace(/\/$/, ""),
    stop: async (graceMs) => {
      const drained = server.stop();
      await Promise.race([drained, Bun.sleep(graceMs)]);
      await server.stop(true);
    },
  };
}
