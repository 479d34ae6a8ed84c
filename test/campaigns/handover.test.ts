import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { type Environment, isCampaign, pds, temporaryFolder } from "../support/pds.ts";
import { childrenOf, type ServiceProcess, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Clients that open a connection for each request, while one process takes over from another.

const handovers = isCampaign ? 20 : 4;
const clients = 24;

const folder = await temporaryFolder();
const store: Environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, SHOP_DOMAIN: "shop.example" };
await pds(["history"], store);

/** Sends one request on a connection of its own. @returns the status, or why there is none */
function requestOnce(port: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(Number(port), "127.0.0.1");
    socket.setTimeout(10_000, () => socket.destroy(new Error("timeout")));
    socket.on("error", ({ message }) => resolve(message));
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.on("close", () => resolve(received.slice(9, 12)));
    socket.write("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  });
}

/** Counts the outcomes of requests while something happens. */
async function requestDuring(port: string, act: () => Promise<void>): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  let isOver = false;
  const loops = Array.from({ length: clients }, async () => {
    while (!isOver) {
      const outcome = await requestOnce(port);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  });
  await act();
  isOver = true;
  await Promise.all(loops);
  if (isCampaign) process.stderr.write(`${JSON.stringify(outcomes)}\n`);
  return outcomes;
}

/** Opens connections with one request each, and counts those that each process accepted. */
async function countAccepted(port: string, pids: readonly number[]): Promise<number[]> {
  const request = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
  const opened = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const { promise, resolve, reject } = Promise.withResolvers<Socket>();
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(request));
      socket.once("data", () => resolve(socket)).once("error", reject);
      return await promise;
    }),
  );
  const rows = readFileSync("/proc/self/net/tcp", "latin1").split("\n");
  const isEstablished = ([, local, , state]: string[]) => local === toHexAddress(port) && state === "01";
  const ofServer = rows.map((row) => row.trim().split(/\s+/)).filter(isEstablished);
  const inodes = new Set(ofServer.map((row) => row[9]));
  const counts = pids.map((pid) => listSockets(pid).filter((inode) => inodes.has(inode)).length);
  for (const socket of opened) socket.destroy();
  return counts;
}

const toHexAddress = (port: string) => `0100007F:${Number(port).toString(16).toUpperCase().padStart(4, "0")}`;

const listSockets = (pid: number) =>
  readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).match(/^socket:\[(\d+)\]$/)?.[1];
    } catch {
      return undefined;
    }
  });

describe.if(process.platform === "linux")("new connections are spread again", () => {
  /** Each has about half; one of 2^33 runs has fewer. */
  const expectSpread = async (port: string, pids: readonly number[]) => {
    for (const count of await countAccepted(port, pids)) expect(count).toBeGreaterThan(7);
  };

  test("after a worker was ended from outside", async () => {
    const environment = { ...store, PORT: `${await findFreePort()}` };
    await using service = await startService(environment, "--workers", "2");
    for (const place of [1, 0]) {
      const before = childrenOf(service.pid);
      process.kill(before[place] ?? 0, "SIGTERM");
      const isReplaced = () =>
        childrenOf(service.pid).length === 2 && childrenOf(service.pid).toString() !== before.toString();
      await until("there is another", isReplaced);
      const readiness = async () => await (await fetch(`${service.adminUrl}/readyz`)).text();
      await until("both serve", async () => (await readiness()).includes('"workers":"ok"'));
      await expectSpread(environment.PORT, childrenOf(service.pid));
    }
  });

  test("after a process that took over has given up", async () => {
    const environment = { ...store, PORT: `${await findFreePort()}`, REUSE_PORT: "on" };
    await using service = await startService(environment, "--workers", "2");
    await (await startService(environment)).end("SIGTERM");
    await expectSpread(environment.PORT, childrenOf(service.pid));
  });

  test("after one of two processes was restarted", async () => {
    const environment = { ...store, PORT: `${await findFreePort()}`, REUSE_PORT: "on" };
    const first = await startService(environment);
    await using second = await startService(environment);
    await first.end("SIGTERM");
    await using third = await startService(environment);
    await expectSpread(environment.PORT, [second.pid, third.pid]);
  });
});

/** Settings of processes that listen on one port, and stop soon. */
async function shareFreePort() {
  return { ...store, PORT: `${await findFreePort()}`, ADMIN_PORT: "0", REUSE_PORT: "on", DRAIN_SECONDS: "1" };
}

describe.if(process.platform === "linux")("no new connection is lost", () => {
  test("while a process takes over the shared port of another", async () => {
    const environment = await shareFreePort();
    let current = await startService(environment);
    const outcomes = await requestDuring(environment.PORT, async () => {
      for (let count = 0; count < handovers; count++) {
        const next = await startService(environment);
        await current.end("SIGTERM");
        current = next;
      }
    });
    await using _: ServiceProcess = current;
    expect(outcomes).toEqual({ "200": expect.any(Number) });
  }, 600_000);

  test("beside processes that listen on the same port of other addresses", async () => {
    const environment = { ...store, PORT: `${await findFreePort()}`, ADMIN_PORT: "0", REUSE_PORT: "on" };
    await using _ = await startService({ ...environment, HOST: "127.0.0.2" });
    await using __ = await startService({ ...environment, HOST: "127.0.0.3" });
    const old = await startService(environment);
    await using next = await startService(environment);
    await old.end("SIGTERM");
    // The old process chose the second socket of two. Its program stays, so this server gets all.
    const port = Number(environment.PORT);
    const server = Bun.serve({ hostname: "127.0.0.1", port, reusePort: true, fetch: () => new Response() });
    expect(await countAccepted(environment.PORT, [next.pid, process.pid])).toEqual([0, 60]);
    await server.stop(true);
  }, 600_000);

  test("while a new process that took over gives up", async () => {
    const environment = await shareFreePort();
    await using _ = await startService(environment);
    const outcomes = await requestDuring(environment.PORT, async () => {
      for (let count = 0; count < handovers; count++) await (await startService(environment)).end("SIGTERM");
    });
    expect(outcomes).toEqual({ "200": expect.any(Number) });
  }, 600_000);

  test("while workers take over from as many others, or give up", async () => {
    const environment = await shareFreePort();
    let current = await startService(environment, "--workers", "2");
    const outcomes = await requestDuring(environment.PORT, async () => {
      for (let count = 0; count < handovers / 2; count++) {
        await (await startService(environment, "--workers", "2")).end("SIGTERM");
        const next = await startService(environment, "--workers", "2");
        await current.end("SIGTERM");
        current = next;
      }
    });
    await using _: ServiceProcess = current;
    expect(outcomes).toEqual({ "200": expect.any(Number) });
  }, 600_000);

  test("while workers are replaced one after the other", async () => {
    const environment = { ...store, PORT: `${await findFreePort()}`, ADMIN_PORT: "0", DRAIN_SECONDS: "1" };
    await using service = await startService(environment, "--workers", "2");
    const replaced = () => service.log().match(/"replaced the workers"/g)?.length ?? 0;
    const outcomes = await requestDuring(environment.PORT, async () => {
      for (let count = 1; count <= handovers / 2; count++) {
        service.process.kill("SIGUSR2");
        await until("all are replaced", () => replaced() === count);
      }
    });
    expect(outcomes).toEqual({ "200": expect.any(Number) });
  }, 600_000);
});
