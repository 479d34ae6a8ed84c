import { expect, test } from "bun:test";
import { SQL } from "bun";
import { toJson } from "../../src/json.ts";
import { toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { writeFeed } from "../support/feed.ts";
import { listInstalled } from "../support/front.ts";
import { isCampaign, migrateStore, temporaryFolder, writeFiles } from "../support/pds.ts";
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
const isPossible = listInstalled(["haproxy"]).length > 0;

const feed = {
  "pzlines.csv": "sku_id,style_code,style_display_seq,style_sku_status\nMUG,S,1,A\n",
  "pzstyles.csv": "style_code,line_status,line_display_seq,choice_type,instruct_text\nS,A,1,F,Font\n",
  "pzchoices.csv": "choice_type,choice_status,choice_display_seq,choice_value\nF,A,1,Serif\n",
};

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
  const url = await startPrimaryBalancer([link.url, standby.url]);
  return { primary, standby, url, cut: () => link.cut(), heal: () => link.heal() };
}

async function startReplicas(environment: Readonly<Record<string, string>>): Promise<ServiceProcess[]> {
  const replicas = await Promise.all([0, 1].map(() => startService({ ...environment, LOG_LEVEL: "warn" })));
  cleanUp(() => Promise.all(replicas.map((replica) => replica.end("SIGKILL"))));
  return replicas;
}

const rowOf = (id: number, title = "") => ({
  ...{ id, document: toJson(toProduct(id, { title })), tag: `${title}${id}`, updated_at: "" },
});

test.skipIf(!isPossible).each(isCampaign ? (["killed", "cut off"] as const) : (["killed"] as const))(
  "replicas go on, and nothing that was acknowledged is lost, when the primary is %s",
  async (how) => {
    const { primary, standby, url, cut } = await startCluster();
    await commitSynchronously(primary, standby);
    await using sql = new SQL(primary.url, { max: 2 });
    await sql`INSERT INTO product ${sql(steadyIds.map((id) => rowOf(id)))}`;
    const folder = await temporaryFolder();
    const [config = ""] = await writeFiles(folder, {
      "pds.toml": `
        lease_seconds = ${leaseSeconds}
        [jobs.personalization-import]
        brand = "acme"
        source = "${await writeFeed(folder, "feed", feed)}"
        retries = 5
        settle_seconds = 0`,
    });
    // The import waits for this lock with its transaction open, until the primary is gone.
    const holder = await sql.reserve();
    await holder.unsafe("BEGIN; SELECT pg_advisory_xact_lock(7365747303)");
    const replicas = await startReplicas({
      ...{ DATABASE_URL: url, PDS_CONFIG: config, VISIBLE: "all", BRAND: "acme" },
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
    await until("deliveries are acknowledged", () => acknowledged.length > 20);

    if (how === "killed") await primary.stop("SIGKILL");
    else cut();
    await standby.promote();
    const promotedMs = performance.now();
    await using promoted = new SQL(standby.url, { max: 1 });
    const readMs = await traffic.untilAllRead();
    const known = acknowledged.length;
    await until("deliveries are acknowledged again", () => acknowledged.length > known);
    const outcomes = async () =>
      (await promoted<{ outcome: string | null }[]>`SELECT outcome FROM run ORDER BY id`).map((run) => run.outcome);
    await until("an import succeeds", async () => (await outcomes()).includes("succeeded"));
    const importedMs = performance.now() - promotedMs;
    isOver = true;
    await Promise.all(delivering);

    expect(traffic.cached.failures).toEqual([]);
    expect(readMs).toBeLessThan(10_000 * slack);
    expect(importedMs).toBeLessThan((leaseSeconds + 10) * 1000 * slack);
    const queued = await promoted<{ id: number }[]>`SELECT CAST(product AS INTEGER) AS id FROM push_queue`;
    const stored = new Set(queued.map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    process.stderr.write(
      `failover (${how}): ${traffic.cached.count} cached requests, ${traffic.uncached.failed} of ` +
        `${traffic.uncached.count} others failed; after the promotion all replicas read in ${readMs.toFixed(0)} ms, ` +
        `and an import succeeded in ${importedMs.toFixed(0)} ms after ${JSON.stringify(await outcomes())}; ` +
        `${acknowledged.length} deliveries acknowledged, none lost\n`,
    );
  },
);

test.skipIf(!isPossible)("what a lost primary had not replicated leaves every cache", async () => {
  const { primary, standby, url } = await startCluster();
  await using sql = new SQL(primary.url, { max: 1 });
  await sql`INSERT INTO product ${sql([rowOf(1), rowOf(2)])}`;
  const replicas = await startReplicas({ DATABASE_URL: url, VISIBLE: "all" });
  await standby.catchUp();
  await standby.pauseReplay();
  const titleOf = async ({ url }: ServiceProcess, id: number) =>
    (JSON.parse(await (await fetch(url + pathOf(id))).text()) as { product: { title: string } | null }).product?.title;
  const untilTitle = async (id: number, title: string) => {
    for (const replica of replicas) {
      await until(`product ${id} is "${title}"`, async () => (await titleOf(replica, id)) === title);
    }
  };
  // The standby has received the change by now, so it may not even replay it.
  await standby.stop("SIGKILL");
  const change = async (server: SQL, id: number, title: string) => {
    const { document, tag } = rowOf(id, title);
    await server`UPDATE product SET document = ${document}, tag = ${tag} WHERE id = ${id}`;
  };
  await untilTitle(1, "");
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
  await untilTitle(1, "");
});
