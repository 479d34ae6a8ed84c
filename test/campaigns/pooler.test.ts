import { expect, test } from "bun:test";
import { SQL } from "bun";
import { insertProducts, toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { feedOf, writeFeed } from "../support/feed.ts";
import { connectTo, isCampaign, migrateStore, pds, temporaryFolder } from "../support/pds.ts";
import { answers, pgbouncer, startPooler } from "../support/pooler.ts";
import { createPostgres } from "../support/postgres.ts";
import { startService } from "../support/service-process.ts";
import { startTraffic } from "../support/traffic.ts";
import { until } from "../support/until.ts";
import { deliver, webhookEnvironment } from "../support/webhooks.ts";

// Three replicas whose requests go through PgBouncer in transaction mode, without prepared statements,
// while everything happens to the pooler that may: what is cached never fails, writes go on beside it,
// and the rest is answered again as soon as the pooler can.

const rounds = isCampaign ? 20 : 1;
const outageMs = isCampaign ? 5000 : 1500;
const poolSize = 4;
const steadyIds = Array.from({ length: 20 }, (_, index) => 1000 + index);
const pathOf = (id: number | string) => `/api/v1/products/${id}`;

if (pgbouncer === null) process.stderr.write("not tested, because not installed: pgbouncer\n");

test.skipIf(pgbouncer === null)("replicas outlive everything that happens to their connection pooler", async () => {
  const postgres = await createPostgres();
  cleanUp(() => postgres.remove());
  await migrateStore(postgres.url);
  const sql = await connectTo(postgres.url);
  cleanUp(() => sql.close());
  for (const parameter of [
    "statement_timeout = '10s'",
    "lock_timeout = '5s'",
    "idle_in_transaction_session_timeout = '5s'",
  ])
    await sql.unsafe(`ALTER ROLE pds SET ${parameter}`);
  await insertProducts(
    sql,
    steadyIds.map((id) => toProduct(id)),
  );
  // Connections to the server are replaced all the time, and forget their state after each transaction.
  const pooler = await startPooler(postgres.url, {
    default_pool_size: poolSize,
    server_lifetime: 1,
    server_reset_query_always: 1,
  });
  const environment = {
    ...{ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: postgres.url, DATABASE_PREPARE: "off" },
    // Nothing answers there, so that deliveries stay queued.
    ...webhookEnvironment({ origin: "http://127.0.0.1:9" }),
    ...{ VISIBLE: "all", BRAND: "acme" },
  };
  const replicas = await Promise.all([0, 1, 2].map(() => startService({ ...environment, LOG_LEVEL: "warn" })));
  cleanUp(() => Promise.all(replicas.map((replica) => replica.end("SIGKILL"))));
  const folder = await temporaryFolder();

  let imports = 0;
  /** Imports a feed with one more SKU, which every replica shows when it reads the store. */
  const importNext = async () => {
    const sku = `SKU${++imports}`;
    const feed = await writeFeed(folder, sku, feedOf([sku]));
    const args = ["import", "personalization", feed, "--brand", "acme", "--force"];
    expect(await pds(args, environment)).toMatchObject({ code: 0 });
    return sku;
  };
  const untilShown = async (sku: string) => {
    for (const { url } of replicas) {
      await until(`${sku} is shown`, async () => {
        const response = await fetch(`${url}${pathOf(`pz/${sku}`)}`);
        return (await response.text()).includes('"Serif"');
      });
    }
  };
  let delivered = 0;
  const deliverAll = async () => {
    for (const { url } of replicas) {
      const id = 5000 + delivered;
      const { status } = await deliver(url, { body: `{"id":${id},"updated_at":"2026-11-20T10:00:00Z"}` });
      expect([id, status]).toEqual([id, 200]);
      delivered++;
    }
  };
  const readConsoles = async () => {
    for (const { adminUrl } of replicas) {
      for (const path of ["/", "/runs", "/products"]) {
        await until(`the console shows ${path}`, async () => (await fetch(adminUrl + path)).status === 200);
      }
    }
  };
  await untilShown(await importNext());

  await using traffic = await startTraffic(replicas, steadyIds.map(pathOf));
  /** Jobs and deliveries do not need the pooler. */
  const outage = async () => {
    await deliverAll();
    const sku = await importNext();
    await Bun.sleep(outageMs);
    return sku;
  };
  const faults: Readonly<Record<string, () => Promise<string>>> = {
    killed: async () => {
      await pooler.stop("SIGKILL");
      const sku = await outage();
      await pooler.start();
      return sku;
    },
    restarted: async () => {
      await pooler.stop("SIGTERM");
      await pooler.start();
      return await outage();
    },
    paused: async () => {
      pooler.pause();
      expect(await answers(pooler.url)).toBe(false);
      const sku = await outage();
      pooler.resume();
      return sku;
    },
    exhausted: async () => {
      await using others = new SQL(pooler.url, { max: poolSize, prepare: false });
      const held = await Promise.all(Array.from({ length: poolSize }, () => others.reserve()));
      // Others wait up to five seconds for the connection of a transaction.
      for (const connection of held) {
        await connection`BEGIN`;
        await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
      }
      expect(await answers(pooler.url)).toBe(false);
      const sku = await outage();
      for (const connection of held) {
        await connection`COMMIT`;
        connection.release();
      }
      return sku;
    },
    "cut off from the server": async () => {
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`;
      return await outage();
    },
  };
  const longest: Record<string, number> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, cause] of Object.entries(faults)) {
      const sku = await cause();
      const tookMs = await traffic.untilAllRead();
      longest[name] = Math.max(longest[name] ?? 0, tookMs);
      await untilShown(sku);
      await readConsoles();
    }
  }
  expect(traffic.cached.failures).toEqual([]);
  const queued = await sql<{ id: number }[]>`SELECT CAST(product AS INTEGER) AS id FROM push_queue ORDER BY product`;
  expect(queued.map(({ id }) => id)).toEqual(Array.from({ length: delivered }, (_, index) => 5000 + index));
  // Two direct ones of each replica, the pool, and that of this test.
  const [open] = await sql<{ count: number }[]>`
    SELECT CAST(count(*) AS INTEGER) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'`;
  expect(open?.count).toBeLessThanOrEqual(2 * replicas.length + poolSize + 1);
  const text = Object.entries(longest).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
  process.stderr.write(
    `pooler: ${traffic.cached.count} cached requests, ${traffic.uncached.failed} of ${traffic.uncached.count} others ` +
      `failed; longest until all replicas read again: ${text.join(", ")}\n`,
  );
});
