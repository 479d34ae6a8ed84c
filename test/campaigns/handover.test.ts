import { describe, expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { type Environment, isCampaign, pds, temporaryFolder } from "../support/pds.ts";
import { type ServiceProcess, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Clients that open a connection for each request, while one process takes over from another.

const handovers = isCampaign ? 20 : 4;
const clients = 24;

const folder = await temporaryFolder();
const store: Environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, SHOP_DOMAIN: "shop.example" };
await pds(["history"], store);

async function freePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `${port}`;
}

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

describe.if(process.platform === "linux")("no new connection is lost", () => {
  test("while a process takes over the shared port of another", async () => {
    const environment = { ...store, PORT: await freePort(), ADMIN_PORT: "0", REUSE_PORT: "on", DRAIN_SECONDS: "1" };
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

  test("while a new process that took over gives up", async () => {
    const environment = { ...store, PORT: await freePort(), ADMIN_PORT: "0", REUSE_PORT: "on", DRAIN_SECONDS: "1" };
    await using _ = await startService(environment);
    const outcomes = await requestDuring(environment.PORT, async () => {
      for (let count = 0; count < handovers; count++) await (await startService(environment)).end("SIGTERM");
    });
    expect(outcomes).toEqual({ "200": expect.any(Number) });
  }, 600_000);

  test("while workers are replaced one after the other", async () => {
    const environment = { ...store, PORT: await freePort(), ADMIN_PORT: "0", DRAIN_SECONDS: "1" };
    await using service = await startService(environment, "--workers", "2");
    const replaced = () => service.log().match(/"replaced the workers"/g)?.length ?? 0;
    const outcomes = await requestDuring(environment.PORT, async () => {
      for (let count = 1; count <= handovers / 2; count++) {
        service.process.kill("SIGUSR2");
        await until("all are replaced", () => replaced() === count, 60_000);
      }
    });
    expect(outcomes).toEqual({ "200": expect.any(Number) });
  }, 600_000);
});
