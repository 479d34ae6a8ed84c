import { join } from "node:path";
import { SQL } from "bun";
import { findFreePort } from "../../test/support/free-port.ts";
import { killOnExit } from "../../test/support/kill-on-exit.ts";
import { createPostgres, type Postgres } from "../../test/support/postgres.ts";
import { createStandby } from "../../test/support/standby.ts";
import { writeFeed } from "../support/feed.ts";
import { withFolder } from "../support/folder.ts";
import { createDatabase } from "../support/postgres.ts";
import { moveToCore, serverCore } from "../support/processes.ts";
import { writeProducts } from "../support/products.ts";
import { pathsByDemand } from "../support/scale.ts";
import { type RunningService, runCommand, startService } from "../support/service.ts";
import { replicasOn, spawnVarnish, varnishd } from "../support/varnish.ts";
import { CpuMeter } from "./cpu-meter.ts";

/** A store on a PostgreSQL server of its own, its standby, and what the replicas in front of it need. */
export interface Rig {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly standbyUrl: string;
  /** Of the servers. */
  readonly postgresPid: number;
  readonly standbyPid: number;
  readonly sql: SQL;
  readonly meter: CpuMeter;
  /** Paths in the order of demand. */
  readonly personalization: readonly string[];
  readonly products: readonly string[];
  /** Of the products, in the same order. */
  readonly ids: readonly string[];
}

/** Choices per group that give personalizations of about 3.2 KB. */
const choices = 3;
/** A measurement is too short for an even share of their background work, unless that is frequent, or rare. */
const serverSettings = ["shared_buffers=256MB", "autovacuum_naptime=5s", "checkpoint_timeout=1h"];

/**
 * Provides a rig during the work. All servers share the core that the load generator leaves: it polls
 * all the time, and would hold up what runs beside it.
 * @param workUs of the costs that measurements are compared with
 */
export async function withRig(
  { skus, products, workUs }: { readonly skus: number; readonly products: number; readonly workUs: number | undefined },
  work: (rig: Rig) => Promise<void>,
): Promise<void> {
  if (varnishd === null) throw new Error("varnishd is missing: apt-get install varnish varnish-modules");
  await withFolder(async (folder) => {
    await using stack = new AsyncDisposableStack();
    const postgres = await createPostgres(serverSettings);
    stack.defer(() => postgres.remove());
    const standby = await createStandby(postgres, { settings: serverSettings });
    stack.defer(() => standby.remove());
    const [postgresPid, standbyPid] = [await pidOf(postgres), await pidOf(standby)];
    for (const pid of [postgresPid, standbyPid]) moveToCore(pid, serverCore);
    const databaseUrl = await createDatabase(postgres.url, "fleet");
    const documents = join(folder, "products.ndjson");
    const ids = await writeProducts(documents, products);
    const feed = await writeFeed(join(folder, "feed"), skus, { status: "A", choicesPerGroup: choices });
    for (const args of [
      ["personalization", feed],
      ["products", documents],
    ])
      await runCommand(["import", ...args], { DATABASE_URL: databaseUrl });
    const sql = stack.use(new SQL(databaseUrl, { max: 4 }));
    // What PostgreSQL does after an import, so that it does not while others are measured.
    await sql`VACUUM ANALYZE`.simple();
    await sql`CHECKPOINT`.simple();
    await standby.catchUp();
    const meter = stack.use(new CpuMeter(workUs));
    const paths = ids.map((id) => `/products/${id}`);
    await work({
      folder,
      databaseUrl,
      sql,
      meter,
      ids,
      products: paths,
      postgresPid,
      standbyPid,
      standbyUrl: standby.url.replace(/[^/]+$/, "fleet"),
      personalization: pathsByDemand(skus),
    });
  });
}

/** From the first line of its file. */
const pidOf = async ({ data }: Postgres) => Number.parseInt(await Bun.file(join(data, "postmaster.pid")).text(), 10);

export interface RunningVarnish {
  readonly url: string;
  readonly pid: number;
  /** A counter, such as `MAIN.client_req`. */
  readonly count: (name: string) => Promise<number>;
}

/** Replicas, and Varnish in front if it has a size. */
export interface Running extends AsyncDisposable {
  readonly replicas: readonly RunningService[];
  readonly varnish: RunningVarnish | undefined;
}

export interface Shape {
  readonly replicas: number;
  /** Whether replicas read from the standby. */
  readonly hasStandby?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  /** Of Varnish; undefined without one. */
  readonly edgeMegabytes: number | undefined;
  readonly isPurged: boolean;
}

let fleets = 0;

export async function startFleet(rig: Rig, shape: Shape): Promise<Running> {
  const { folder, databaseUrl, standbyUrl, sql } = rig;
  const { replicas: count, environment, edgeMegabytes, isPurged, hasStandby = false } = shape;
  const own = join(folder, `fleet-${fleets++}`);
  const edgePort = await findFreePort();
  const purge = `[purge]\nurl = "http://127.0.0.1:${edgePort}/"\n`;
  await Bun.write(join(own, "pds.toml"), isPurged ? purge : "");
  const settings = {
    DATABASE_URL: databaseUrl,
    PDS_CONFIG: join(own, "pds.toml"),
    SCHEDULER: "off",
    ...(edgeMegabytes !== undefined && { CDN: "varnish" }),
    ...(hasStandby && { DATABASE_READ_URLS: standbyUrl }),
    ...environment,
  };
  const replicas = await Promise.all(Array.from({ length: count }, () => startService(settings)));
  for (const { child } of replicas) {
    killOnExit(child, "TERM");
    moveToCore(child.pid, serverCore);
  }
  const children: Bun.Subprocess[] = replicas.map(({ child }) => child);
  let varnish: RunningVarnish | undefined;
  // Of caches that are not there any more.
  if (isPurged) await sql`DELETE FROM purge_target WHERE name NOT LIKE ${`%:${edgePort}/`}`;
  if (edgeMegabytes !== undefined) {
    const ports = replicas.map(({ url }) => Number(new URL(url).port));
    const child = await spawnVarnish(await replicasOn(ports), {
      folder: own,
      port: edgePort,
      megabytes: edgeMegabytes,
    });
    children.push(child);
    moveToCore(child.pid, serverCore);
    const url = `http://127.0.0.1:${edgePort}/api/v1`;
    await untilAnswers(`${url}/histories/desc`, child);
    const count = async (name: string) => {
      const { stdout } = Bun.spawn(["varnishstat", "-n", join(own, "varnish"), "-1", "-f", name], { stdout: "pipe" });
      return Number((await stdout.text()).trim().split(/\s+/)[1]);
    };
    varnish = { url, pid: child.pid, count };
  }
  return {
    replicas,
    varnish,
    [Symbol.asyncDispose]: async () => {
      for (const child of children) child.kill("SIGTERM");
      await Promise.all(children.map(({ exited }) => exited));
    },
  };
}

async function untilAnswers(url: string, child: Bun.Subprocess<"ignore", "ignore", "pipe">): Promise<void> {
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    if (child.exitCode !== null) throw new Error(`varnishd exited: ${await child.stderr.text()}`);
    await Bun.sleep(50);
  }
}

/** Changes a product as a sync does: its document, and its entity tag. */
export async function changeProduct({ sql }: Rig, id: string, version: string): Promise<void> {
  await sql`UPDATE product SET document = document || ' ', tag = ${version} WHERE id = ${id}`;
}

/** A new cache is purged as a whole first, twice. */
export async function untilPurged({ sql }: Rig): Promise<void> {
  for (;;) {
    const rows = await sql`SELECT state, (SELECT max(id) FROM change) AS newest FROM purge_target`;
    const isSettled = ({ state, newest }: { state: string; newest: number }) => {
      const { second, marks, failure } = JSON.parse(state);
      // Replicas start before Varnish, so their first purges fail.
      return failure === undefined && second >= Number(newest) && marks.length === 0;
    };
    if (rows.length > 0 && rows.every(isSettled)) return;
    await Bun.sleep(200);
  }
}

/** With neither grace nor background refresh beyond it, so that a response expires for everyone at once. */
export function keptFor(seconds: number): Record<string, string> {
  const policy = `max-age=1, s-maxage=${seconds}`;
  return { CACHE_PERSONALIZATION: policy, CACHE_PRODUCTS: policy };
}
