import { join } from "node:path";
import { haproxy } from "../support/balancers.ts";
import { cleanUp } from "../support/clean-up.ts";
import { findFreePort } from "../support/free-port.ts";
import { type Environment, main, pds, temporaryFolder, writeFiles } from "../support/pds.ts";
import { type StandIn, startPlatform } from "../support/platform.ts";
import { type Pooler, startPooler } from "../support/pooler.ts";
import { startPrimaryBalancer } from "../support/primary-balancer.ts";
import { answers, Program } from "../support/program.ts";
import { type Proxy as Link, startProxy } from "../support/proxy.ts";
import { spawnService } from "../support/service-process.ts";
import { until } from "../support/until.ts";
import { prepareVarnish, replicasOn } from "../support/varnish.ts";
import { path as deliveryPath, webhookEnvironment } from "../support/webhooks.ts";
import { Cluster } from "./cluster.ts";
import { type Erp, startErp } from "./feed.ts";
import { schedules } from "./ticks.ts";

const replicaCount = 3;

/** One replica with its ways to the other parts. */
export class Replica {
  readonly url: string;
  readonly adminUrl: string;
  readonly #environment: Environment;
  #service: ReturnType<typeof spawnService> | undefined;
  #isRunning = false;
  readonly #logs: (() => string)[] = [];
  #program = main;

  constructor(port: number, adminPort: number, environment: Environment) {
    this.url = `http://127.0.0.1:${port}`;
    this.adminUrl = `http://127.0.0.1:${adminPort}`;
    this.#environment = { ...environment, PORT: `${port}`, ADMIN_PORT: `${adminPort}` };
    cleanUp(() => this.end("SIGKILL"));
  }

  /** Starts it as a service manager does: again, until it runs. */
  async start(): Promise<void> {
    await until("the replica is ready", async () => {
      if (!this.#isRunning) this.#spawn();
      return await answers(`${this.url}/readyz`);
    }).catch((cause) => {
      throw new Error(`the replica is not ready: ${this.log}`, { cause });
    });
  }

  #spawn(): void {
    const service = spawnService([], this.#environment, this.#program);
    this.#service = service;
    this.#logs.push(service.log);
    this.#isRunning = true;
    void service.exited.then(() => {
      this.#isRunning = this.#service !== service;
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#service?.process.kill(name);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await this.#service?.end(signal);
  }

  async upgrade(program: string): Promise<void> {
    this.#program = program;
    await this.end("SIGTERM");
    await this.start();
  }

  /** Whether it has what it needs, and not only what it has cached. */
  async isWhole(): Promise<boolean> {
    try {
      const response = await fetch(`${this.adminUrl}/readyz`, { signal: AbortSignal.timeout(1000) });
      const { checks } = (await response.json()) as { checks: { database: string } };
      if (!response.ok || checks.database !== "ok") return false;
      // A store counts as lost only after three seconds. It has to answer for what no cache has.
      return (await fetch(`${this.url}/api/v1/products/pz/${crypto.randomUUID()}`)).ok;
    } catch {
      return false;
    }
  }

  /** Of each time that it ran. */
  get log(): string {
    return this.#logs.map((read) => read()).join("");
  }
}

/** Ways between the parts that can be cut. */
export interface Links {
  /** From each replica to the pooler, and to the primary directly. */
  readonly pooler: readonly Link[];
  readonly direct: readonly Link[];
  /** From the pooler to the database balancer. */
  readonly poolerToDatabase: Link;
  /** From the database balancer to the servers. */
  readonly database: readonly [Link, Link];
  /** From balancers to replicas. */
  readonly replicas: readonly Link[];
  /** From edges to balancers. */
  readonly balancers: readonly Link[];
  /** From replicas to edges, which they purge. */
  readonly purges: readonly Link[];
  readonly platform: Link;
  readonly deliveries: Link;
}

export interface FleetOptions {
  readonly skus: number;
  readonly products: number;
}

/** Everything between a shopper and the systems that the data comes from, with nothing single. */
export interface Fleet {
  readonly cluster: Cluster;
  readonly erp: Erp;
  readonly platform: StandIn;
  readonly replicas: readonly Replica[];
  readonly balancers: readonly Program[];
  readonly balancerUrls: readonly string[];
  readonly edges: readonly Program[];
  readonly edgeUrls: readonly string[];
  readonly databaseBalancer: Program;
  readonly pooler: Pooler;
  readonly links: Links;
  /** For commands: leads to the primary. */
  readonly environment: Environment;
}

const portsFor = (count: number) => Promise.all(Array.from({ length: count }, findFreePort));
const times = <T>(count: number, create: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => create(index)));
const local = (port: number) => `http://127.0.0.1:${port}`;
const portOf = (proxy: Link) => Number(new URL(proxy.url).port);

/** Starts all parts, and imports all data. */
export async function startFleet({ skus, products }: FleetOptions): Promise<Fleet> {
  const folder = await temporaryFolder();
  const cluster = await Cluster.create();
  const erp = await startErp(skus);
  const platform = startPlatform({
    products,
    sharesSeconds: true,
    now: Date.now,
    webhooks: { speedUp: 100 },
  });

  // The database: a balancer finds the primary, and a pooler is in front of it.
  const database = [await cluster.openWay(0), await cluster.openWay(1)] as const;
  const databaseBalancer = await startPrimaryBalancer([database[0].url, database[1].url]);
  const poolerToDatabase = await startProxy(databaseBalancer.url);
  const pooler = await startPooler(poolerToDatabase.url);

  const [ports, adminPorts, balancerPorts, edgePorts] = await Promise.all([
    portsFor(replicaCount),
    portsFor(replicaCount),
    portsFor(2),
    portsFor(2),
  ]);
  const platformLink = await startProxy(platform.origin);
  const purges = await times(2, (index) => startProxy(local(edgePorts[index] as number)));
  const [PDS_CONFIG = ""] = await writeFiles(folder, { "pds.toml": configOf(erp, purges) });
  const environment: Environment = {
    ...webhookEnvironment({ origin: origin(platformLink.url) }),
    PDS_CONFIG,
    DATABASE_URL: databaseBalancer.url,
    CDN: "varnish",
    PUBLIC_URL: local(edgePorts[0] as number),
    LOG_LEVEL: "warn",
  };
  const links = {
    pooler: await times(replicaCount, () => startProxy(pooler.url)),
    direct: await times(replicaCount, () => startProxy(databaseBalancer.url)),
  };
  for (const job of ["catalog-reconcile", "personalization-import"]) {
    const { code, stderr } = await pds(["run", job], environment);
    if (code !== 0) throw new Error(`${job}: ${stderr}`);
  }
  const replicas = ports.map(
    (port, index) =>
      new Replica(port, adminPorts[index] as number, {
        ...environment,
        DATABASE_URL: links.pooler[index]?.url,
        DATABASE_DIRECT_URL: links.direct[index]?.url,
        DATABASE_PREPARE: "off",
        DRAIN_SECONDS: "2",
      }),
  );
  await Promise.all(replicas.map((replica) => replica.start()));

  const replicaLinks = await times(replicaCount, (index) => startProxy(local(ports[index] as number)));
  const balancers = await times(2, async (index) => {
    const port = balancerPorts[index] as number;
    const command = await haproxy.prepare(join(folder, `balancer${index}`), port, replicaLinks.map(portOf));
    return await new Program(["haproxy", ...command], () => answers(`${local(port)}/livez`)).start();
  });
  const balancerLinks = await times(2, (index) => startProxy(local(balancerPorts[index] as number)));
  const edges = await times(2, async (index) => {
    const port = edgePorts[index] as number;
    const command = await prepareVarnish(await replicasOn(balancerLinks.map(portOf)), {
      folder: join(folder, `edge${index}`),
      ...{ port, megabytes: 512 },
    });
    return await new Program(command, () => answers(`${local(port)}/livez`)).start();
  });
  const deliveries = await startProxy(local(balancerPorts[0] as number));
  const subscription = { uri: `${origin(deliveries.url)}${deliveryPath}`, includeFields: ["id", "updated_at"] };
  platform.subscriptions.create("default", "PRODUCTS_UPDATE", subscription);
  return {
    ...{ cluster, erp, platform, replicas, balancers, edges, pooler, environment },
    databaseBalancer: databaseBalancer.program,
    balancerUrls: balancerPorts.map(local),
    edgeUrls: edgePorts.map(local),
    links: {
      ...links,
      ...{ database, poolerToDatabase, purges, deliveries },
      replicas: replicaLinks,
      balancers: balancerLinks,
      platform: platformLink,
    },
  };
}

const origin = (url: string) => new URL(url).origin;

const every = (seconds: number) => (seconds === 60 ? "* * * * *" : `*/${seconds} * * * * *`);

const configOf = (erp: Erp, purges: readonly Link[]) => `
lease_seconds = 10
[purge]
url = ${JSON.stringify(purges.map(({ url }) => `${origin(url)}/`))}
[jobs.history-retention]
schedule = "${every(schedules["history-retention"])}"
missed = "all"
[jobs.catalog-sync]
schedule = "${every(schedules["catalog-sync"])}"
missed = "all"
[jobs.catalog-reconcile]
schedule = "off"
[jobs.personalization-import]
source = "${erp.origin}/"
schedule = "${every(schedules["personalization-import"])}"
settle_seconds = 0
missed = "all"
retries = 5
retry_seconds = 5
`;
