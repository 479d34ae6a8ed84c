import { connect, createServer } from "node:net";
import { cleanUp } from "./clean-up.ts";

/** An address that leads to one of several servers, like a name, or a virtual address. */
export interface Switch {
  readonly url: string;
  /** New connections lead there from now on; those that are open stay where they lead to. */
  leadTo(serverUrl: string): void;
  /** Closes all connections. */
  disconnect(): void;
}

/** Starts a switch until the end of the test file. */
export async function startSwitch(serverUrl: string): Promise<Switch> {
  let target = new URL(serverUrl);
  const disconnecting = new Set<() => void>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const disconnect = () => {
      client.destroy();
      upstream.destroy();
      disconnecting.delete(disconnect);
    };
    disconnecting.add(disconnect);
    for (const socket of [client, upstream]) socket.on("error", () => {}).on("close", disconnect);
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const disconnectAll = () => {
    for (const disconnect of [...disconnecting]) disconnect();
  };
  cleanUp(() => {
    server.close();
    disconnectAll();
  });
  const url = new URL(serverUrl);
  url.port = `${(server.address() as { port: number }).port}`;
  return {
    url: url.href,
    leadTo: (serverUrl) => {
      target = new URL(serverUrl);
    },
    disconnect: disconnectAll,
  };
}
