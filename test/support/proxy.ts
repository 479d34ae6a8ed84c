import { connect, createServer, type Socket } from "node:net";
import { cleanUp } from "./clean-up.ts";
import { findFreePort } from "./free-port.ts";

/** A connection to a server that can be cut off, or slow. */
export interface Proxy {
  readonly url: string;
  /** Swallows everything from now on, without closing a connection, also in new connections. */
  cut(): void;
  /** Passes on everything in new connections. Those from before stay silent. */
  heal(): void;
  /** Passes on everything, and resets the connections from before, as hosts do after a while. */
  restore(): void;
  /** Leads new connections to another server; those that are open stay where they lead to. */
  leadTo(serverUrl: string): void;
  /** Leads new connections to another server, and closes those to the one before. */
  redirect(serverUrl: string): void;
  /** Passes on each answer that much later from now on. */
  delay(ms: number): void;
  /**
   * Keeps the answers back on the connection that has the next one.
   * @returns a function that passes them on
   */
  holdNext(): () => void;
}

/** Starts a proxy in front of the server of a URL, until the end of the test file. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  let target = new URL(serverUrl);
  let isCut = false;
  let delayMs = 0;
  const sockets = new Set<Socket>();
  let holdsNext = false;
  /** Answers that are kept back, by the client's end of the connection. */
  const held = new Map<Socket, Buffer[]>();
  const answer = (client: Socket, chunk: Buffer) => {
    if (holdsNext) held.set(client, []);
    holdsNext = false;
    const waiting = held.get(client);
    if (waiting === undefined) client.write(chunk);
    else waiting.push(chunk);
  };
  const server = createServer((client) => {
    let isSilent = isCut;
    /** The answers that are passed on later, one after the other. */
    let delayed: Promise<void> | undefined;
    const delay = (chunk: Buffer) => {
      const dueMs = performance.now() + delayMs;
      const own = (delayed ?? Promise.resolve()).then(async () => {
        await Bun.sleep(Math.max(0, dueMs - performance.now()));
        answer(client, chunk);
        if (delayed === own) delayed = undefined;
      });
      delayed = own;
    };
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk: Buffer) => {
        isSilent ||= isCut;
        if (isSilent) return;
        if (from === client) upstream.write(chunk);
        else if (delayMs === 0 && delayed === undefined) answer(client, chunk);
        else delay(chunk);
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
  const reset = () => {
    for (const socket of sockets) socket.destroy();
  };
  const leadTo = (to: string) => {
    target = new URL(to);
  };
  const port = await findFreePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  cleanUp(() => {
    server.close();
    reset();
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
    restore: () => {
      isCut = false;
      reset();
    },
    leadTo,
    redirect: (to) => {
      leadTo(to);
      reset();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    holdNext: () => {
      holdsNext = true;
      return () => {
        const waiting = [...held];
        held.clear();
        for (const [client, chunks] of waiting) for (const chunk of chunks) client.write(chunk);
      };
    },
  };
}
