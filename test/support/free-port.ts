import { createServer } from "node:net";

/** Below the ports that systems give to connections and to listeners on port 0. */
const [first, last] = [10_000, 30_000];
/** Each worker of the test runner has ports of its own, so that none takes one that another has just found. */
const workers = 10;
const worker = Number(process.env.BUN_TEST_WORKER_ID ?? Math.ceil(Math.random() * workers)) % workers;
const count = (last - first) / workers;
/** At random, since another run may be on the same machine. */
let next = Math.floor(Math.random() * count);

/**
 * Finds a port of 127.0.0.1 for a program that is started later, or again: nothing that asks for any
 * port gets it meanwhile.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % count;
    const port = first + worker * count + next;
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
