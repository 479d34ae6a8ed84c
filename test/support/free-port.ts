import { createServer } from "node:net";

/** Below the ports that systems give to connections and to listeners on port 0. */
const [first, last] = [10_000, 30_000];

/**
 * Finds a port of 127.0.0.1 for a program that is started later, or again: nothing that asks for any
 * port gets it meanwhile.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * (last - first));
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
