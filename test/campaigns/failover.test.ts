import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { changeProduct, insertProducts, toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { feedOf, writeFeed } from "../support/feed.ts";
import { listInstalled } from "../support/front.ts";
import { Operator } from "../support/operator.ts";
import { isCampaign, migrateStore, pds, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgres, type Postgres } from "../support/postgres.ts";
import { allowChecks, startPrimaryBalancer } from "../support/primary-balancer.ts";
import { startProxy } from "../support/proxy.ts";
import { type ServiceProcess, startService } from "../support/service-process.ts";
import { commitSynchronously, createStandby, type Standby } from "../support/standby.ts";
import { startTraffic } from "../support/traffic.ts";
import { until } from "../support/until.ts";
import { deliver, webhookEnvironment } from "../support/webhooks.ts";

// Two replicas on a primary and its standby, behind HAProxy as the documentation configures it. The
// primary is lost, the standby becomes the primary, and nobody restarts a replica.

const leaseSeconds = 5;
/** In short, other tests use the same processors. */
const slack = isCampaign ? 1 : 6;
const steadyIds = Array.from({ length: 20 }, (_, index) => 1000 + index);
const pathOf = (id: number | string) => `/api/v1/products/${id}`;
const token = "a-token-of-the-tests-that-is-long-enough";
const isPossible = listInstalled(["haproxy"]).length > 0;

interface Cluster {
  readonly primary: Postgres;
  readonly standby: Standby;
  /** Leads to the one that accepts writes. */
  readonly url: string;
  /** Cuts off the machine of the first primary. */
  readonly cut: () => void;
  readonly heal: () => void;
}

async function startCluster(): Promise<Cluster> {
  const primary = await createPostgres();
  await allowChecks(primary);
  await migrateStore(primary.url);
  const standby = await createStandby(primary);
  cleanUp(async () => {
    await standby.remove();
    await primary.remove();
  });
  const link = await startProxy(primary.url);
  const { url } = await startPrimaryBalancer([link.url, standby.url]);
  return { primary, standby, url, cut: () => link.cut(), heal: () => link.heal() };
}

async function startReplicas(environment: Readonly<Record<string, string>>): Promise<ServiceProcess[]> {
  const replicas = await Promise.all([0, 1].map(() => startService({ ...environment, LOG_LEVEL: "warn" })));
  cleanUp(() => Promise.all(replicas.map((replica) => replica.end("SIGKILL"))));
  return replicas;
}

describe.skipIf(!isPossible)("behind a balancer", () => {
  test.concurrent.each(isCampaign ? (["killed", "cut off"] as const) : (["killed"] as const))(
    "replicas go on, and nothing that was acknowledged is lost, when the primary is %s",
    async (how) => {
      const { primary, standby, url, cut } = await startCluster();
      await commitSynchronously(primary, standby);
      await using sql = new SQL(primary.url, { max: 2 });
      await insertProducts(
        sql,
        steadyIds.map((id) => toProduct(id)),
      );
      const folder = await temporaryFolder();
      const [config = ""] = await writeFiles(folder, {
        "pds.toml": `
          lease_seconds = ${leaseSeconds}
          [jobs.personalization-import]
          brand = "acme"
          source = "${await writeFeed(folder, "feed", feedOf(["MUG"]))}"
          retries = 5
          retry_seconds = 1
          settle_seconds = 0`,
      });
      const store = { DATABASE_URL: url, PDS_CONFIG: config, ADMIN_TOKEN: token };
      const finished = await pds(["import", "personalization", join(folder, "feed"), "--brand", "other"], store);
      expect(finished).toMatchObject({ code: 0 });
      // The import waits for this lock with its transaction open, until the primary is gone.
      const holder = await sql.reserve();
      await holder`BEGIN`;
      await holder`SELECT pg_advisory_xact_lock(7365747303)`;
      const replicas = await startReplicas({
        ...{ ...store, VISIBLE: "all", BRAND: "acme" },
        // Nothing answers there, so that deliveries stay queued.
        ...webhookEnvironment({ origin: "http://127.0.0.1:9" }),
      });
      const waits = async () =>
        (await sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).length > 0;
      await until("the import waits", waits);
      await using traffic = await startTraffic(replicas, steadyIds.map(pathOf));

      const acknowledged: number[] = [];
      let isOver = false;
      const delivering = replicas.map(async (replica, index) => {
        for (let id = 5000 + index; !isOver; id += 2) {
          const body = `{"id":${id},"updated_at":"2026-11-20T10:00:00Z"}`;
          const status = await deliver(replica.url, { body }).then(
            (response) => response.status,
            () => 0,
          );
          if (status === 200) acknowledged.push(id);
          await Bun.sleep(20);
        }
      });
      let signIns = 0;
      const signingIn = replicas.map(async ({ adminUrl }) => {
        while (!isOver) {
          const status = await new Operator(adminUrl).signIn(token).catch(() => 0);
          if (status === 303) signIns++;
          await Bun.sleep(50);
        }
      });
      await until("deliveries are acknowledged", () => acknowledged.length > 20 && signIns > 5);

      if (how === "killed") await primary.stop("SIGKILL");
      else cut();
      await standby.promote();
      const promotedMs = performance.now();
      await using promoted = new SQL(standby.url, { max: 1 });
      const readMs = await traffic.untilAllRead();
      const known = { deliveries: acknowledged.length, signIns };
      await until(
        "deliveries and actions are acknowledged again",
        () => acknowledged.length > known.deliveries && signIns > known.signIns,
      );
      const outcomes = async (brand = "acme") => {
        const runs = await promoted<{ outcome: string | null }[]>`
          SELECT outcome FROM run WHERE brand = ${brand} ORDER BY id`;
        return runs.map((run) => run.outcome);
      };
      await until("an import succeeds", async () => (await outcomes()).includes("succeeded"));
      const importedMs = performance.now() - promotedMs;
      isOver = true;
      // The lock is that of the former primary.
      await holder`COMMIT`.catch(() => {});
      holder.release();
      await Promise.all([...delivering, ...signingIn]);

      expect(traffic.cached.failures).toEqual([]);
      expect(readMs).toBeLessThan(10_000 * slack);
      expect(importedMs).toBeLessThan((leaseSeconds + 10) * 1000 * slack);
      const queued = await promoted<{ id: number }[]>`SELECT CAST(product AS INTEGER) AS id FROM push_queue`;
      const stored = new Set(queued.map(({ id }) => id));
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
      expect(await outcomes("other")).toEqual(["succeeded"]);
      const [audit] = await promoted<{ count: number }[]>`SELECT CAST(count(*) AS INTEGER) AS count FROM audit_record`;
      expect(audit?.count).toBeGreaterThanOrEqual(signIns);
      process.stderr.write(
        `failover (${how}): ${traffic.cached.count} cached requests, ${traffic.uncached.failed} of ` +
          `${traffic.uncached.count} others failed; after the promotion all replicas read in ${readMs.toFixed(0)} ms, ` +
          `and an import succeeded in ${importedMs.toFixed(0)} ms after ${JSON.stringify(await outcomes())}; ` +
          `${acknowledged.length} deliveries and ${signIns} sign-ins acknowledged, none lost\n`,
      );
    },
  );

  test.concurrent("what a lost primary had not replicated leaves every cache", async () => {
    const { primary, standby, url } = await startCluster();
    await using sql = new SQL(primary.url, { max: 1 });
    await insertProducts(sql, [toProduct(1), toProduct(2)]);
    const replicas = await startReplicas({ DATABASE_URL: url, VISIBLE: "all" });
    await standby.catchUp();
    await standby.pauseReplay();
    const titleOf = async ({ url }: ServiceProcess, id: number) =>
      (JSON.parse(await (await fetch(url + pathOf(id))).text()) as { product: { title: string } | null }).product
        ?.title;
    const untilTitle = async (id: number, title: string) => {
      for (const replica of replicas) {
        await until(`product ${id} is "${title}"`, async () => (await titleOf(replica, id)) === title);
      }
    };
    // The standby has received the change by now, so it may not even replay it.
    await standby.stop("SIGKILL");
    const change = (server: SQL, id: number, title: string) => changeProduct(server, toProduct(id, { title }));
    await untilTitle(1, "Plate 1");
    await change(sql, 1, "lost");
    await untilTitle(1, "lost");
    await primary.stop("SIGKILL");
    await standby.start();
    await standby.promote();
    await using promoted = new SQL(standby.url, { max: 1 });
    // The number of the lost change, or a higher one, is used again before any replica asks.
    await change(promoted, 2, "kept");
    await change(promoted, 2, "kept too");
    await untilTitle(2, "kept too");
    await untilTitle(1, "Plate 1");

    // It comes back, and nobody has fenced it. The balancer keeps to the other one.
    await primary.start();
    await using former = new SQL(primary.url, { max: 1 });
    const checks = async () => {
      const [row] = await former<{ sessions: number }[]>`
        SELECT CAST(sessions AS INTEGER) AS sessions FROM pg_stat_database WHERE datname = 'postgres'`;
      return row?.sessions ?? 0;
    };
    const before = await checks();
    await until("the balancer has found it again", async () => (await checks()) > before + 2);
    await using next = new SQL(url, { max: 1 });
    const [row] = await next`SELECT document FROM product WHERE id = 2`;
    expect(row.document).toContain('"title":"kept too"');
    await untilTitle(1, "Plate 1");
  });
});

test.concurrent("connections that lead to a standby are given up", async () => {
  const primary = await createPostgres();
  await migrateStore(primary.url);
  const standby = await createStandby(primary);
  cleanUp(async () => {
    await standby.remove();
    await primary.remove();
  });
  const address = await startProxy(primary.url);
  await using service = await startService({
    DATABASE_URL: address.url,
    ...webhookEnvironment({ origin: "http://127.0.0.1:9" }),
  });
  const read = async () => (await fetch(`${service.url}${pathOf(`pz/${crypto.randomUUID()}`)}`)).status;
  const body = '{"id":1,"updated_at":"2026-11-20T10:00:00Z"}';
  const write = async () => (await deliver(service.url, { body })).status;
  expect([await read(), await write()]).toEqual([200, 200]);
  address.redirect(standby.url);
  await until("it notices", () => service.log().includes("the store is unreachable"));
  await until("writes fail", async () => (await write()) === 503);
  // Those that lead to the standby stay open.
  address.leadTo(primary.url);
  await until("reads go on", async () => (await read()) === 200);
  await until("writes go on", async () => (await write()) === 200);
});
