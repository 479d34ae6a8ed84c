import { expect, test } from "bun:test";
import { join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { loadDuring } from "../support/load.ts";
import { type Environment, isCampaign, pds, root, temporaryFolder } from "../support/pds.ts";
import { type ServiceProcess, startService } from "../support/service-process.ts";

// Clients that open a connection for each request, while one process takes over from another. The
// sysctl that keeps their connections belongs to a network namespace, so the tests run in their own.

const handovers = isCampaign ? 20 : 4;
const clients = 24;
const isInside = process.env.INSIDE_NAMESPACE === "1";
const unshare = process.platform === "linux" ? Bun.which("unshare") : null;
const enter = "ip link set lo up && echo 1 > /proc/sys/net/ipv4/tcp_migrate_req";

const folder = await temporaryFolder();
const store: Environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, SHOP_DOMAIN: "shop.example" };
await pds(["history"], store);

/** Sends requests, each on a connection of its own, while something happens, and expects that all get a response. */
async function expectAllAnsweredDuring(port: string, act: () => Promise<void>): Promise<void> {
  const headers = { Connection: "close" };
  const load = { url: `http://127.0.0.1:${port}`, paths: ["/livez"], headers, connections: clients };
  const { requests, statuses, failures } = await loadDuring(load, act);
  process.stderr.write(`${requests} requests, failed: ${JSON.stringify(failures)}\n`);
  expect({ statuses, failures }).toEqual({ statuses: { 200: requests }, failures: {} });
  expect(requests).toBeGreaterThan(0);
}

/** Settings of processes that listen on one port, and stop soon. */
async function shareFreePort() {
  return { ...store, PORT: `${await findFreePort()}`, ADMIN_PORT: "0", REUSE_PORT: "on", DRAIN_SECONDS: "1" };
}

if (!isInside) {
  test.skipIf(unshare === null)(
    "with the sysctl tcp_migrate_req, no new connection is lost",
    async () => {
      const itself = Bun.spawn(
        ["unshare", "-rn", "sh", "-c", `${enter} && exec "$@"`, "sh", process.execPath, "test", import.meta.path],
        { cwd: root, env: { ...process.env, INSIDE_NAMESPACE: "1" }, stdio: ["ignore", "inherit", "inherit"] },
      );
      expect(await itself.exited).toBe(0);
    },
    600_000,
  );
} else {
  test("while a process takes over the shared port of another", async () => {
    const environment = await shareFreePort();
    let current = await startService(environment);
    // On connections that are kept until the old process closes them.
    const kept = { url: current.url, paths: ["/api/v1/histories"], connections: 64 };
    const { failures, closing } = await loadDuring(kept, () =>
      expectAllAnsweredDuring(environment.PORT, async () => {
        for (let count = 0; count < handovers; count++) {
          const next = await startService(environment);
          await current.end("SIGTERM");
          current = next;
        }
      }),
    );
    await using _: ServiceProcess = current;
    expect(failures).toEqual({});
    expect(closing).toBeGreaterThanOrEqual(handovers);
  }, 600_000);

  test("while a new process that took over gives up", async () => {
    const environment = await shareFreePort();
    await using _ = await startService(environment);
    await expectAllAnsweredDuring(environment.PORT, async () => {
      for (let count = 0; count < handovers; count++) await (await startService(environment)).end("SIGTERM");
    });
  }, 600_000);

  test("while one of two replicas is restarted after the other", async () => {
    const environment = await shareFreePort();
    const replicas = [await startService(environment), await startService(environment)];
    await expectAllAnsweredDuring(environment.PORT, async () => {
      for (let count = 0; count < handovers; count++) {
        await replicas[count % 2]?.end("SIGTERM");
        replicas[count % 2] = await startService(environment);
      }
    });
    for (const replica of replicas) await replica.end("SIGKILL");
  }, 600_000);

  test("pds check does not warn of the sysctl", async () => {
    const { stdout } = await pds(["check", "--json"], await shareFreePort());
    const { warnings } = JSON.parse(stdout) as { warnings: string[] };
    expect(warnings.filter((warning) => warning.startsWith("REUSE_PORT"))).toEqual([]);
  });
}
