import type { BunRequest, Server } from "bun";
import { ServiceError } from "../base/errors.ts";
import { toSentence } from "../base/format.ts";
import { withTimeout } from "../base/time.ts";
import { Endpoint, type ListenerContext, type Route, type Routes } from "./endpoint.ts";

export interface Listener {
  readonly url: string;
  /** Stops listening, waits up to `graceMs` for pending responses, and closes all connections. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly isShared: boolean;
  /** Idle timeout of connections, in seconds; 0 disables it. */
  readonly idleSeconds: number;
}

type Address = Pick<ListenOptions, "host" | "port">;

/** @throws ServiceError `unavailable` when the address cannot be bound */
function bind(
  { host, port }: Address,
  serve: (address: { hostname: string; port: number }) => Server<undefined>,
): Server<undefined> {
  try {
    return serve({ hostname: host, port });
  } catch (cause) {
    const { code = "", message } = cause as Error & { code?: string };
    const advice = /^(EADDRNOTAVAIL|EINVAL)$/.test(code)
      ? "Set HOST or ADMIN_HOST to an address of this machine."
      : "Set PORT or ADMIN_PORT to use another port.";
    throw new ServiceError("unavailable", `cannot listen on ${host} port ${port}: ${toSentence(message)} ${advice}`, {
      cause,
    });
  }
}

/**
 * Binds an address for a moment, to find out early whether that can be done. Not for one that is
 * shared: the connections of that moment would be lost.
 * @throws ServiceError as {@link listen} does
 */
export async function probeAddress(address: Address): Promise<void> {
  await bind(address, (free) => Bun.serve({ ...free, fetch: () => new Response(null, { status: 503 }) })).stop(true);
}

/**
 * The runtime matches the routes: a framework's dispatch would cost a fifth of a request.
 * @throws ServiceError `unavailable` when the address cannot be bound
 */
export function listen(
  routes: Routes,
  context: ListenerContext,
  { host, port, isShared, idleSeconds }: ListenOptions,
): Listener {
  const serve = (template: string, route: Route) => {
    const endpoint = new Endpoint(context, template, route);
    return (request: BunRequest<string>, server: Server<undefined>) => endpoint.handle(request, server);
  };
  const fallback = serve("(unknown)", {
    get: () => {
      throw new ServiceError("not_found", "This route does not exist. See /docs for the API reference.");
    },
  });
  const handlers = Object.fromEntries(
    Object.entries(routes).map(([template, route]) => [template, serve(template, route)]),
  );
  const server = bind({ host, port }, (address) =>
    Bun.serve({
      ...address,
      reusePort: isShared,
      idleTimeout: idleSeconds,
      routes: handlers,
      // More than any route reads. Larger bodies get a 413 from the server itself.
      maxRequestBodySize: 64 * 1024,
      development: false,
      fetch: (request, server) => fallback(request as BunRequest<string>, server),
    }),
  );
  return {
    url: server.url.href.replace(/\/$/, ""),
    stop: async (graceMs) => {
      await withTimeout(server.stop(), graceMs, () => {});
      await server.stop(true);
    },
  };
}
