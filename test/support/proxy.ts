import { connect, createServer, type Socket } from "node:net";
import { cleanUp } from "./clean-up.ts";
import { freePort } from "./postgres.ts";

/** A connection to a server that can be cut off. */
export interface Proxy {
  readonly url: string;
  /** Swallows everything from now on, without closing a connection, also in new connections. */
  cut(): void;
  /** Passes on everything in new connections. Those from before stay silent. */
  heal(): void;
}

/** Starts a proxy in front of the server of a URL, until the end of the test file. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl);
  let isCut = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    let isSilent = isCut;
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => {
        isSilent ||= isCut;
        if (!isSilent) to.write(chunk);
      });
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        isSilent ||= isCut;
        // A lost machine does not close its connections.
        if (!isSilent) to.destroy();
      });
    }
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  cleanUp(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL(serverUrl);
  url.port = `${port}`;
  return {
    url: url.href,
    cut: () => {
      isCut = true;
    },
    heal: () => {
      isCut = false;
    },
  };
}
