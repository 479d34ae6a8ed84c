import { cleanUp } from "./clean-up.ts";

/** Starts a server on a free port that stops after the test or the file that calls this. @returns its address */
export function startServer(respond: (request: Request) => Response | Promise<Response>): string {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: respond });
  cleanUp(() => server.stop(true));
  return server.url.origin;
}
