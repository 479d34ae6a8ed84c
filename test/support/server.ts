import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { cleanUp } from "./clean-up.ts";

/** Starts a server on a free port that stops after the test or the file that calls this. @returns its address */
export function startServer(
  respond: (request: Request) => Response | Promise<Response>,
  options: { readonly tls?: Bun.TLSOptions; readonly idleTimeout?: number } = {},
): string {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", ...options, fetch: respond });
  cleanUp(() => server.stop(true));
  return server.url.origin;
}

/** Starts a server like {@link startServer}, which can also break its responses off. @returns its address */
export async function startBreakableServer(respond: RequestListener): Promise<string> {
  const server = createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
